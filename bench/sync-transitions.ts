/** Synchronous transitions over HTTP, and the same SQL by pgbench in turns on the same server. */
import { Client } from "pg";
import { cpuSeconds } from "./cpu.ts";
import { median, rounds, seconds, table } from "./figures.ts";
import { load, request } from "./load.ts";
import { openPgbench } from "./pgbench.ts";
import { hasWrk, wrk } from "./wrk.ts";
import {
  anyOf,
  instancesPath,
  payload,
  payloads,
  startInstances,
  type Subject,
} from "./subject.ts";

const instances = 10_000;

interface Slot {
  ours: number;
  reference: number;
  p50: number;
  p99: number;
  nodeCpu: number;
  postgresCpu: number;
  wal: number;
  errors: number;
}

export async function syncTransitions(subject: Subject): Promise<void> {
  const ids = await startInstances(subject, instances);
  const pgbench = await openPgbench(subject.databaseUrl);
  const database = new Client({ connectionString: subject.databaseUrl });
  await database.connect();
  const walBytes = async () => {
    const { rows } = await database.query<{ bytes: string }>(
      "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes",
    );
    return Number(rows[0]!.bytes);
  };
  const paths = ids.map((id) => `${instancesPath}/${id}/transitions/approve?sync=true`);
  const next = () => request("PATCH", anyOf(paths), payload());
  const isWrk = await hasWrk();
  console.log(`load by ${isWrk ? "wrk" : "our own generator"}`);
  const measure = (connections: number) =>
    isWrk
      ? wrk({ url: subject.url, connections, seconds, method: "PATCH", paths, bodies: payloads })
      : load({ port: subject.port, connections, seconds, next, good: [200, 409] });

  // Compilers warm up for a while; nobody's first seconds are what a service is like.
  await load({ port: subject.port, connections: 32, seconds: seconds * 2, next, good: [200, 409] });

  const slots = new Map<number, Slot[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const connections of [1, 8, 32, 128]) {
      const reference = (await pgbench?.perSecond(connections, seconds)) ?? Number.NaN;
      const before = [cpuSeconds(subject.pid), cpuSeconds(subject.postgresPid), await walBytes()];
      const result = await measure(connections);
      const after = [cpuSeconds(subject.pid), cpuSeconds(subject.postgresPid), await walBytes()];
      const count = result.perSecond * seconds;
      const slot = {
        ours: result.perSecond,
        reference,
        p50: result.p50Ms,
        p99: result.p99Ms,
        nodeCpu: ((after[0]! - before[0]!) / count) * 1e6,
        postgresCpu: ((after[1]! - before[1]!) / count) * 1e6,
        wal: (after[2]! - before[2]!) / count,
        errors: result.errors,
      };
      slots.set(connections, [...(slots.get(connections) ?? []), slot]);
    }
  }
  const middle = (list: Slot[], pick: (slot: Slot) => number) => median(list.map(pick));
  table(
    [
      "clients",
      "per s",
      "pgbench",
      "ratio",
      "p50 ms",
      "p99 ms",
      "node us",
      "pg us",
      "WAL B",
      "errors",
    ],
    [...slots].map(([connections, list]) => [
      connections,
      middle(list, (s) => s.ours).toFixed(0),
      middle(list, (s) => s.reference).toFixed(0),
      middle(list, (s) => s.ours / s.reference).toFixed(2),
      middle(list, (s) => s.p50).toFixed(2),
      middle(list, (s) => s.p99).toFixed(1),
      middle(list, (s) => s.nodeCpu).toFixed(0),
      middle(list, (s) => s.postgresCpu).toFixed(0),
      middle(list, (s) => s.wal).toFixed(0),
      list.reduce((sum, s) => sum + s.errors, 0),
    ]),
  );
  await database.end();
  await pgbench?.close();
}
