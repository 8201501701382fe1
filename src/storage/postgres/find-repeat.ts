import type { InstanceStatus } from "../../engine/instance.ts";
import type { Repeat, RepeatOf } from "../instance-store.ts";
import type { Queries } from "./database.ts";

// The first request may still be queued, and have no record yet.
const byIdempotencyKey = {
  name: "find-repeat",
  text: `
    select outcome_status::text as status, outcome_seq from transition_record
    where instance_id = $1 and transition_key = $2 and idempotency_key = $3
    union all
    select null, null from job
    where instance_id = $1 and transition_key = $2 and kind = 'tx'
      and payload::json #>> '{request,idempotencyKey}' = $3
    limit 1`,
};

interface Found {
  status: InstanceStatus | null;
  outcome_seq: number | null;
}

/** What the first request with this idempotency key has come to, if there was one. */
export async function findRepeat(queries: Queries, of: RepeatOf): Promise<Repeat | undefined> {
  // No text in the database has a NUL, and asking for one is an error there.
  if (of.transitionKey.includes("\u0000")) return undefined;
  const [row] = await queries.query<Found>(byIdempotencyKey, [
    of.instanceId,
    of.transitionKey,
    of.idempotencyKey,
  ]);
  if (row === undefined) return undefined;
  return { status: row.status ?? undefined, lastSeq: row.outcome_seq ?? undefined };
}
