/** Takes expired entries of all stores out of the table. Nobody sees them any more: no hurry. */
import type { Queries } from "./database.ts";

const sweepBatch = {
  name: "sweep-state-entries",
  text: `
    delete from state_entry where (store, key) in (
      select store, key from state_entry where expires_at <= now()
      limit 1000 for update skip locked)
    returning 1`,
};

const everyMs = 60_000;

export async function sweepStateEntries(queries: Queries): Promise<number> {
  let swept = 0;
  for (;;) {
    const rows = await queries.query(sweepBatch);
    swept += rows.length;
    if (rows.length === 0) return swept;
  }
}

/** Answers how to stop it. */
export function keepSweeping(
  queries: Queries,
  onTrouble: (event: string, error: unknown) => void,
): () => Promise<void> {
  let underWay: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    underWay = sweepStateEntries(queries).catch((error: unknown) => {
      onTrouble("StateStoreSweepFailed", error);
    });
  }, everyMs).unref();
  return async () => {
    clearInterval(timer);
    await underWay;
  };
}
