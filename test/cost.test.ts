/**
 * What a transition costs the database, as figures that do not depend on the machine: statements,
 * commits, notifications, bytes of write-ahead log. On a server of its own, where nobody else writes.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startEmbeddedPostgres } from "../src/storage/embedded/embedded-postgres.ts";
import { aWorkflow } from "./support/a-workflow.ts";
import { eventually } from "./support/eventually.ts";
import { startPostgresProxy, type PostgresProxy } from "./support/postgres-proxy.ts";
import { startRuntimeForFile, type TestRuntime } from "./support/start-runtime.ts";

let proxy: PostgresProxy;
let runtime: TestRuntime;
let database: Client;
const instances = "/api/v1/core/workflows/approval/instances";

beforeAll(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-cost-"));
  // Nobody writes but who is asked to.
  const settings = { autovacuum: "off" };
  const server = await startEmbeddedPostgres({ dataDir, fsync: false, settings });
  proxy = await startPostgresProxy(server.url);
  database = new Client({ connectionString: server.url });
  await database.connect();
  afterAll(async () => {
    await database.end();
    await proxy.close();
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  runtime = await startRuntimeForFile({ databaseUrl: proxy.url });
  await runtime.publish(
    aWorkflow("approval")
      .state("s0")
      .transition("approve", { to: "s1" })
      .state("s1")
      .transition("approve", { to: "s0" }),
  );
  // A node that has just come asks once whether anybody waits for changes.
  await eventually(() => expect(proxy.counts.get("announce-changes")).toBe(1));
});

/** About 1 KB, different each time. */
const payload = () => ({
  attributes: Object.fromEntries(
    "abcdefghij".split("").map((name) => [`member-${name}`, crypto.randomUUID().padEnd(84, "x")]),
  ),
});

async function startMany(count: number): Promise<string[]> {
  const started = await Promise.all(
    Array.from({ length: count }, () => runtime.post(`${instances}/start?sync=true`, payload())),
  );
  return started.map((answer) => (answer.body as { id: string }).id);
}

const approve = (id: string) =>
  runtime.patch(`${instances}/${id}/transitions/approve?sync=true`, payload());

const background = new Set([
  "claim-jobs",
  "next-due",
  "beat-node",
  "sweep-nodes",
  "release-jobs",
  "catalogue-revision",
  "component-changes",
  "sweep-state-entries",
]);

/** Executions since the last call, without what the node does every second anyway. */
function countStatements(): Map<string, number> {
  const counted = new Map([...proxy.counts].filter(([name]) => !background.has(name)));
  proxy.counts.clear();
  return counted;
}

test("a transition alone is one read and one write", async () => {
  const [id] = await startMany(1);
  await approve(id!);
  countStatements();

  for (let i = 0; i < 20; i += 1) expect((await approve(id!)).status).toBe(200);

  expect(Object.fromEntries(countStatements())).toEqual({ "find-instance": 20, "update-run": 20 });
});

test("with 32 clients at most every second transition is a commit of its own, reads included", async () => {
  const ids = await startMany(64);
  countStatements();

  const transitions = 640;
  const queue = Array.from({ length: transitions }, (_, i) => ids[i % ids.length]!);
  const client = async () => {
    for (let id = queue.pop(); id !== undefined; id = queue.pop()) await approve(id);
  };
  await Promise.all(Array.from({ length: 32 }, client));

  // Every statement outside a transaction is a commit; nothing here opens one.
  const statements = countStatements();
  const commits = [...statements.values()].reduce((sum, n) => sum + n, 0);
  expect([...statements.keys()].toSorted()).toEqual(
    expect.arrayContaining(["find-instances", "update-runs"]),
  );
  expect([...statements.keys()].some((name) => /notify|announce|unnamed/.test(name))).toBe(false);
  expect(commits / transitions).toBeLessThanOrEqual(0.5);
});

test("the log written is at most twice the document and the body", async () => {
  const ids = await startMany(50);
  for (const id of ids) await approve(id);
  const size = JSON.stringify(payload().attributes).length;

  const transitions = 300;
  const before = await logPosition();
  for (let i = 0; i < transitions; i += 1) await approve(ids[i % ids.length]!);
  const written = (await logPosition()) - before;

  // The document and the body are the same size here.
  expect(written / transitions / (2 * size)).toBeLessThanOrEqual(2);
});

async function logPosition(): Promise<number> {
  const { rows } = await database.query<{ bytes: string }>(
    "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes",
  );
  return Number(rows[0]!.bytes);
}
