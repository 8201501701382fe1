/**
 * The state function beside reading the instance: on a node that has just started and reads each
 * instance for the first time (cold), on one that knows the workflow (warm), and unchanged (304).
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median, rounds, seconds, table } from "./figures.ts";
import { load, request } from "./load.ts";
import { anyOf, instancesPath, startInstances, startNode, type Subject } from "./subject.ts";

type PathOf = (id: string) => string;

const surfaces: Record<string, PathOf> = {
  instance: (id) => `${instancesPath}/${id}`,
  state: (id) => `${instancesPath}/${id}/functions/state`,
};

interface Rates {
  cold: number[];
  /** Milliseconds of the very first read. */
  first: number[];
  warm: number[];
  unchanged: number[];
}

export async function state(subject: Subject): Promise<void> {
  const ids = await startInstances(subject, 2000);
  const rates = new Map<string, Rates>();
  const unchanged = new Map<string, () => string>();
  for (const [name, pathOf] of Object.entries(surfaces)) {
    rates.set(name, { cold: [], first: [], warm: [], unchanged: [] });
    unchanged.set(name, await conditionalReads(subject, ids, pathOf));
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, pathOf] of Object.entries(surfaces)) {
      const { cold, first, warm, unchanged: known } = rates.get(name)!;
      const fresh = await coldReads(subject, ids, pathOf);
      cold.push(fresh.perSecond);
      first.push(fresh.firstMs);
      const slot = { port: subject.port, connections: 32, seconds };
      const whole = () => request("GET", pathOf(anyOf(ids)));
      warm.push(checked(await load({ ...slot, next: whole })).perSecond);
      const next = unchanged.get(name)!;
      known.push(checked(await load({ ...slot, next, good: [304] })).perSecond);
    }
  }
  const [instance, shown] = [rates.get("instance")!, rates.get("state")!];
  const line = (name: string, kind: "cold" | "warm" | "unchanged") => [
    name,
    median(shown[kind]).toFixed(0),
    median(instance[kind]).toFixed(0),
    (median(shown[kind]) / median(instance[kind])).toFixed(2),
  ];
  table(
    ["GET per s, 32 clients", "state function", "instance", "ratio"],
    [line("cold", "cold"), line("warm", "warm"), line("304", "unchanged")],
  );
  table(
    ["first read of a new node, ms", "state function", "instance"],
    [["", median(shown.first).toFixed(1), median(instance.first).toFixed(1)]],
  );
}

/** Each instance once, by a node that has read nothing before. */
async function coldReads(
  { databaseUrl }: Subject,
  ids: readonly string[],
  pathOf: PathOf,
): Promise<{ perSecond: number; firstMs: number }> {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-bench-cold-"));
  const node = await startNode(databaseUrl, dataDir);
  try {
    const [firstId = "", ...others] = ids;
    const sentAt = performance.now();
    const answer = await fetch(`${node.url}${pathOf(firstId)}`);
    await answer.arrayBuffer();
    const firstMs = performance.now() - sentAt;
    let sent = 0;
    const { perSecond } = checked(
      await load({
        port: node.port,
        connections: 32,
        seconds: 600,
        next: () => request("GET", pathOf(others[sent++]!)),
        until: () => sent >= others.length,
      }),
    );
    return { perSecond, firstMs };
  } finally {
    await node.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Makes requests of somebody who has read every instance before. */
async function conditionalReads(
  { url }: Subject,
  ids: readonly string[],
  pathOf: PathOf,
): Promise<() => string> {
  const reads: string[] = [];
  for (const id of ids) {
    const answer = await fetch(`${url}${pathOf(id)}`);
    await answer.arrayBuffer();
    const known = `if-none-match: ${answer.headers.get("etag")}\r\n`;
    reads.push(request("GET", pathOf(id), undefined, known));
  }
  return () => anyOf(reads);
}

/** A rate of errors is no rate. */
function checked<Result extends { errors: number }>(result: Result): Result {
  if (result.errors > 0) throw new Error(`${result.errors} reads were not answered as expected`);
  return result;
}
