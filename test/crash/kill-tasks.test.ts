/**
 * kill -9 in the middle of tasks of every type that reaches outside. What was journaled is not done
 * again; what was not is done again, and whoever is reached recognises it by its key.
 */
import { Client } from "pg";
import { expect, test } from "vitest";
import type { FaultPointName } from "../../src/runtime/fault-point.ts";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { atEndOfFile } from "./at-end.ts";
import { errandComponents, errands, otherOf } from "./errands.ts";
import { startNode, type NodeProcess } from "./node-process.ts";
import { auditOf, rowsOf, unfinished } from "./promises.ts";
import { publish } from "./publish.ts";
import { startWorld, type Call } from "./world.ts";

const atEnd = atEndOfFile();
const { url: databaseUrl, drop } = await createDatabase();
atEnd(drop);
const world = await startWorld(atEnd);
const start = () =>
  startNode({
    databaseUrl,
    // Every run may stand still in a query of its own, until all of them do.
    env: { ...world.env, Database__PoolSize: "24", Database__StatementTimeoutMs: "60000" },
    atEnd,
  });
let node: NodeProcess = await start();
await publish(node.url, errandComponents(world.url));

async function send(method: "POST" | "PATCH", path: string, body: object = {}): Promise<string> {
  const answer = await fetch(`${node.url}/api/v1/core/workflows/${path}`, {
    method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  expect(`${answer.status} ${text}`).toMatch(/^20[02] /);
  return (JSON.parse(text) as { id: string }).id;
}

interface Sent {
  name: string;
  key: string;
  id: string;
}

/** One instance of each errand, before its `go`. */
const begin = (moment: string): Promise<Sent[]> =>
  Promise.all(
    errands.map(async ({ name }) => {
      const key = `${moment}-${name}`;
      if (name === "trigger") {
        await send("POST", "order/instances/start?sync=true", { key: otherOf(key) });
      }
      const body = { key, attributes: { list: ["a", "b", "c"] } };
      const id = await send("POST", `errand-${name}/instances/start?sync=true`, body);
      return { name, key, id };
    }),
  );

const go = ({ name, id }: Sent) =>
  send("PATCH", `errand-${name}/instances/${id}/transitions/go?sync=false`);

/** Everybody who is dead is known to be dead: nobody waits until a heartbeat is missed. */
async function restart(): Promise<void> {
  expect(await node.exited).toEqual({ code: null, signal: "SIGKILL" });
  await rowsOf(databaseUrl, "delete from node");
  node = await start();
}

/** How often each key was seen. */
function countsOf(calls: readonly Call[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { key } of calls) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** The calls of one instance's `go`: those of its errand, and the one after it. */
async function callsOf({ id, key: subject }: Sent) {
  const [record] = await rowsOf<{ id: string }>(
    databaseUrl,
    "select id from transition_record where instance_id = $1 and transition_key = 'go'",
    [id],
  );
  const own = world
    .calls()
    .filter((call) => call.subject === subject || call.key.startsWith(`${record?.id}:`));
  return {
    errand: own.filter(({ to }) => to !== "/after"),
    after: own.filter(({ to }) => to === "/after"),
  };
}

const journaledKeys = async () =>
  (await rowsOf<{ key: string }>(databaseUrl, "select execution_key as key from task_journal")).map(
    ({ key }) => key,
  );

/** Effects inside the database, of the errands that have one there. */
async function effectOf({ name, key }: Sent): Promise<number> {
  const one = async (sql: string, value: string) =>
    (await rowsOf<{ n: number }>(databaseUrl, sql, [value]))[0]!.n;
  const entries = "select count(*)::int as n from state_entry where key = 'custom:' || $1";
  switch (name) {
    case "start":
    case "subprocess":
      return one(
        "select count(*)::int as n from instance where flow = 'order' and data ->> 'by' = $1",
        key,
      );
    case "trigger":
      return one(
        `select count(*)::int as n from transition_record r join instance i on i.id = r.instance_id
         where i.key = $1 and r.transition_key = 'ship'`,
        otherOf(key),
      );
    case "set":
      return one(entries, key);
    case "delete":
      return 1 - (await one(entries, otherOf(key)));
    case "cache":
      return one(entries, `price-${key}`);
    default:
      return 1;
  }
}

/** All have ended as they should, each effect has its one key, and no database tells otherwise. */
async function expectDone(sent: readonly Sent[]): Promise<void> {
  await eventually(async () => expect(await unfinished(databaseUrl)).toEqual([]));
  for (const one of sent) {
    const { errand, after } = await callsOf(one);
    const { reaches } = errands.find(({ name }) => name === one.name)!;
    const [state] = await rowsOf(
      databaseUrl,
      `select status::text, current_state as state,
         (select max(message) from incident where instance_id = id) as trouble
       from instance where id = $1`,
      [one.id],
    );
    expect({
      of: one.name,
      state,
      effects: await effectOf(one),
      reached: [...new Set(errand.map(({ to }) => to))].toSorted(),
      keys: countsOf(errand).size,
      keysAfter: countsOf(after).size,
    }).toEqual({
      of: one.name,
      state: { status: "A", state: "done", trouble: null },
      effects: 1,
      reached: reaches.toSorted(),
      keys: reaches.length,
      keysAfter: 1,
    });
  }
  expect(await auditOf(databaseUrl)).toEqual([]);
}

/** How often each call of each errand was made, by where it went. */
async function timesOf(sent: readonly Sent[]): Promise<Record<string, number>> {
  const times: Record<string, number> = {};
  for (const one of sent) {
    for (const { to } of (await callsOf(one)).errand) times[to] = (times[to] ?? 0) + 1;
  }
  return times;
}

const everyPath = errands.flatMap(({ reaches }) => reaches);
const each = (paths: readonly string[], times: number) =>
  Object.fromEntries(paths.map((path) => [path, times]));

/** Stops whoever needs the journal in this way, until all errands stand still; then they die there. */
async function killWhereJournalIsNeeded(
  mode: "access exclusive" | "share",
  sent: readonly Sent[],
  standing: number,
): Promise<void> {
  const lock = new Client({ connectionString: databaseUrl });
  await lock.connect();
  try {
    await lock.query(`begin; lock table task_journal in ${mode} mode`);
    for (const one of sent) await go(one);
    await eventually(async () => expect(await standingStill()).toHaveLength(standing));
    node.signal("SIGKILL");
    await node.exited;
    // The server would carry out what the dead one has asked for.
    for (const { pid } of await standingStill()) {
      await rowsOf(databaseUrl, "select pg_terminate_backend($1, 60000)", [pid]);
    }
  } finally {
    await lock.end();
  }
}

const standingStill = () =>
  rowsOf<{ pid: number }>(
    databaseUrl,
    `select pid from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'
       and backend_type = 'client backend'`,
  );

test(
  "a node that dies before its tasks have begun: each is done once",
  { timeout: 300_000 },
  async () => {
    const sent = await begin("before");

    await killWhereJournalIsNeeded("access exclusive", sent, errands.length);
    expect(await timesOf(sent)).toEqual({});
    await restart();

    await expectDone(sent);
    expect(await timesOf(sent)).toEqual(each(everyPath, 1));
  },
);

test(
  "a node that dies when its tasks are done and not journaled: each is repeated with its key",
  { timeout: 300_000 },
  async () => {
    const sent = await begin("done");

    // Each item of a fan-out is journaled on its own.
    await killWhereJournalIsNeeded("share", sent, errands.length + 2);
    expect(await timesOf(sent)).toEqual(each(everyPath, 1));
    await restart();

    await expectDone(sent);
    expect(await timesOf(sent)).toEqual(each(everyPath, 2));
  },
);

test(
  "a node that dies in the middle of its calls: each is repeated with its key, but not the item of a fan-out that had ended",
  { timeout: 300_000 },
  async () => {
    const sent = await begin("middle");
    const itemsBefore = (await journaledKeys()).filter((key) => key.endsWith("#0")).length;
    world.hold(...everyPath.filter((path) => path !== "/item/0"));
    for (const one of sent) await go(one);
    await eventually(async () => {
      expect(await timesOf(sent)).toEqual(each(everyPath, 1));
      const keys = await journaledKeys();
      expect(keys.filter((key) => key.endsWith("#0"))).toHaveLength(itemsBefore + 1);
    });

    node.signal("SIGKILL");
    world.answerNew();
    await restart();

    await expectDone(sent);
    expect(await timesOf(sent)).toEqual({ ...each(everyPath, 2), "/item/0": 1 });
  },
);

test(
  "a node that dies in the task after: what was journaled is not repeated",
  { timeout: 300_000 },
  async () => {
    const sent = await begin("after");
    world.hold("/after");
    for (const one of sent) await go(one);
    await eventually(async () => {
      for (const one of sent) expect((await callsOf(one)).after).toHaveLength(1);
    });

    node.signal("SIGKILL");
    world.answerNew();
    await restart();

    await expectDone(sent);
    expect(await timesOf(sent)).toEqual(each(everyPath, 1));
    for (const one of sent) {
      const { after } = await callsOf(one);
      expect(after.map(({ key }) => key)).toEqual([after[0]!.key, after[0]!.key]);
    }
  },
);

const points: FaultPointName[] = [
  "before-checkpoint",
  "after-checkpoint",
  "before-task",
  "after-task",
  "after-journal",
  "before-settle-write",
  "after-settle-write",
];

test.for(points)(
  "a node that dies at %s, with errands of all types under way, repeats nothing that was journaled",
  { timeout: 300_000 },
  async (point) => {
    const sent = await begin(point);
    node.arm(`${point}:${Math.ceil(errands.length / 2)}`);

    // Those it does not answer any more may have been accepted, or not.
    const accepted = await Promise.allSettled(sent.map(go));
    await node.exited;
    const before = { counts: countsOf(world.calls()), journaled: await journaledKeys() };
    await restart();

    const lost = sent.filter((_, i) => accepted[i]!.status === "rejected");
    const unmoved = await rowsOf<{ id: string }>(
      databaseUrl,
      `select id from instance i where id = any ($1) and status = 'A' and not exists (
         select from transition_record r where r.instance_id = i.id and r.transition_key = 'go')`,
      [lost.map(({ id }) => id)],
    );
    for (const one of lost) if (unmoved.some(({ id }) => id === one.id)) await go(one);
    await expectDone(sent);
    const repeated = [...countsOf(world.calls())].filter(
      ([key, times]) =>
        times > (before.counts.get(key) ?? times) &&
        before.journaled.some((done) => key === done || key.startsWith(`${done}:`)),
    );
    expect(repeated).toEqual([]);
  },
);
