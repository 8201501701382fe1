/** Readers of one node, writers on another, one database. */
import { Client } from "pg";
import { afterAll, expect, test } from "vitest";
import { aWorkflow } from "../support/a-workflow.ts";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { instancesOf } from "../support/instances-of.ts";
import { untilListening } from "../support/listening.ts";
import { startPostgresProxy } from "../support/postgres-proxy.ts";
import { readEvents } from "../support/read-events.ts";
import { startRuntimeForFile, type Answer, type TestRuntime } from "../support/start-runtime.ts";

const database = await createDatabase();
afterAll(() => database.drop());
const proxy = await startPostgresProxy(database.url);
afterAll(() => proxy.close());

const rarely = { "Live.PollSeconds": 300 };
const writer = await startRuntimeForFile({ databaseUrl: proxy.url, settings: rarely });
const reader = await startRuntimeForFile({ databaseUrl: database.url, settings: rarely });
const looker = await startRuntimeForFile({
  databaseUrl: database.url,
  settings: { "Live.PollSeconds": 1 },
});
await writer.publish(
  aWorkflow("check")
    .state("waiting")
    .transition("note", {})
    .transition("pass", { to: "passed" })
    .state("passed", { type: "finish", subType: "success" }),
  aWorkflow("loan")
    .state("draft")
    .transition("submit", { to: "review" })
    .transition("check", { to: "checking" })
    .transition("aside", { to: "beside" })
    .state("review")
    .transition("back", { to: "draft" })
    .state("checking", { type: "subFlow", subFlow: opens("S") })
    .transition("on", { to: "review", otherwise: true })
    .state("beside", { type: "subFlow", subFlow: opens("P") })
    .transition("home", { to: "draft" }),
);
await untilListening(database.url, 3);
const loans = instancesOf(writer, "loan");
const checks = instancesOf(writer, "check");

function opens(type: "S" | "P") {
  const process = { key: "check", domain: "core", flow: "sys-flows", version: "1.0.0" };
  return { type, process };
}

const statePath = (id: string, query = "") => `${loans.path}/${id}/functions/state${query}`;

async function etagOf(node: TestRuntime, id: string): Promise<string> {
  const answer = await node.get(statePath(id));
  expect(answer.status).toBe(200);
  return answer.headers["etag"]!;
}

/** Held by the node when this resolves; `answered` is what comes of it. */
async function hold(node: TestRuntime, id: string): Promise<{ answered: Promise<Answer> }> {
  const etag = await etagOf(node, id);
  const answered = node.get(statePath(id, "?wait=60"), { "if-none-match": etag });
  await untilToldOf();
  // Also the look that follows the first reader's coming is over then.
  const tick = new Promise((resolve) => setTimeout(resolve, 600, "held"));
  expect(await Promise.race([answered, tick])).toBe("held");
  return { answered };
}

const announced = () => proxy.counts.get("announce-changes") ?? 0;
const bystander = await loans.begin();

/** Until the writer knows that another node has readers: from then on it tells of what it writes. */
async function untilToldOf(): Promise<void> {
  await eventually(async () => {
    const before = announced();
    await loans.send(bystander, "submit");
    await loans.send(bystander, "back");
    expect(announced()).toBeGreaterThan(before);
  });
}

async function inDatabase(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query(sql, values)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

/** Long before the node would look for itself. */
async function soon<T>(answer: Promise<T>): Promise<T> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error("nothing was heard")), 50_000).unref();
  });
  return Promise.race([answer, late]);
}

test("two nodes name one state by one ETag, and every change by another", async () => {
  const id = await loans.begin();
  const before = await etagOf(writer, id);

  await loans.send(id, "submit");

  expect(await etagOf(reader, id)).toBe(await etagOf(writer, id));
  expect(await etagOf(reader, id)).not.toBe(before);
});

test("a held read is answered when another node writes the instance", async () => {
  const id = await loans.begin();
  const { answered } = await hold(reader, id);

  await loans.send(id, "submit");

  const { status, body, headers } = await soon(answered);
  expect({ status, body }).toMatchObject({ status: 200, body: { state: "review" } });
  expect(headers["etag"]).toBe(await etagOf(writer, id));
});

test("a stream tells what another node writes", async () => {
  const id = await loans.begin();
  const events = await readEvents(reader, statePath(id, "/stream"));
  await events.next();
  await untilToldOf();

  await loans.send(id, "submit");

  expect(await soon(events.next())).toMatchObject({ data: { state: "review" } });
});

test("who waits for a parent hears of its subflow, also of what leaves the state as it is", async () => {
  const id = await loans.begin();
  const events = await readEvents(reader, statePath(id, "/stream"));
  await events.next();
  await untilToldOf();
  await loans.send(id, "check");
  await eventually(async () =>
    expect(await soon(events.next())).toMatchObject({ data: { state: "waiting", status: "A" } }),
  );
  const [child] = await childrenOf(id);

  await checks.send(child!, "note");
  await checks.send(child!, "pass");

  await eventually(async () =>
    expect(await soon(events.next())).toMatchObject({ data: { state: "review", status: "A" } }),
  );
});

test("who waits for a parent hears of its subprocess", async () => {
  const id = await loans.begin();
  await loans.send(id, "aside");
  const [child] = await eventually(async () => {
    const found = await childrenOf(id);
    expect(found).toHaveLength(1);
    return found;
  });
  await eventually(async () => expect((await checks.get(child!)).status).toBe(200));
  const { answered } = await hold(reader, id);

  await checks.send(child!, "pass");

  expect(await soon(answered)).toMatchObject({ status: 200, body: { state: "beside" } });
});

const childrenOf = async (id: string): Promise<string[]> =>
  (await inDatabase("select child_id from correlation where parent_id = $1", [id])).map((row) =>
    String(row["child_id"]),
  );

test("what nobody tells is found by looking", async () => {
  const id = await loans.begin();
  const { answered } = await hold(looker, id);

  await inDatabase(
    `update instance set rev = rev + 1, current_state = 'review', effective_state = 'review'
     where id = $1`,
    [id],
  );

  expect(await answered).toMatchObject({ status: 200, body: { state: "review" } });
});

test("a child's change that nobody tells is found by looking", async () => {
  const id = await loans.begin();
  await loans.send(id, "check");
  const [child] = await childrenOf(id);
  const { answered } = await hold(looker, id);

  await inDatabase(`update instance set rev = rev + 1, status = 'B' where id = $1`, [child]);

  expect(await answered).toMatchObject({ status: 200, body: { state: "waiting", status: "B" } });
});

test("what is written while a node cannot hear is known to it when it can again", async () => {
  const id = await loans.begin();
  const { answered } = await hold(reader, id);

  await inDatabase(
    `select pg_terminate_backend(pid, 60000) from pg_stat_activity
     where datname = current_database() and application_name = 'millrace-listen'`,
  );
  await loans.send(id, "submit");

  expect(await soon(answered)).toMatchObject({ status: 200, body: { state: "review" } });
});

test("a node tells of many writes at once, and only while another waits", async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => loans.begin()));
  const move = async () => {
    for (const way of ["submit", "back", "submit", "back"]) {
      await Promise.all(ids.map((id) => loans.send(id, way)));
    }
  };
  const { answered } = await hold(reader, await loans.begin({ key: "idle", attributes: {} }));
  const [before, begun] = [announced(), performance.now()];

  await move();

  const tookMs = performance.now() - begun;
  expect(announced()).toBeGreaterThan(before);
  // Never two of them within 25 ms; one that had been on its way, and one of a node that came back.
  expect(announced() - before).toBeLessThanOrEqual(tookMs / 24 + 3);
  await loans.send("idle", "submit");
  await answered;
});
