/**
 * kill -9 while a failure is written down, while somebody waits before another attempt, and while a
 * retry goes on: one failure is one incident, attempts are counted on, and a retry happens once.
 */
import { expect, test } from "vitest";
import type { FaultPointName } from "../../src/runtime/fault-point.ts";
import { aWorkflow, defaultDomain, hook } from "../support/a-workflow.ts";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { aTask, taskRef } from "../support/run-task.ts";
import { atEndOfFile } from "./at-end.ts";
import { startNode, type NodeProcess } from "./node-process.ts";
import { auditOf, rowsOf, unfinished } from "./promises.ts";
import { publish } from "./publish.ts";
import { startWorld } from "./world.ts";

const atEnd = atEndOfFile();
const { url: databaseUrl, drop } = await createDatabase();
atEnd(drop);
const world = await startWorld(atEnd);
const start = () => startNode({ databaseUrl, env: world.env, atEnd });
let node: NodeProcess = await start();

const opens = (key: string) => ({
  type: "subFlow" as const,
  subFlow: {
    type: "S",
    process: { key, domain: defaultDomain, flow: "sys-flows", version: "1.0.0" },
    mapping: { type: "G" },
  },
});
const over = { type: "finish", subType: "success" } as const;
const call = (path: string) =>
  aTask(path, "6", { url: `${world.url}/${path}`, method: "POST", body: {} });
const patient = (task: string, delay: string) => [
  {
    order: 1,
    task: taskRef(task),
    mapping: { type: "G" },
    errorBoundary: {
      onError: [
        {
          action: "retry",
          retryPolicy: {
            maxRetries: 2,
            initialDelay: delay,
            maxDelay: delay,
            backoffType: "fixed",
            useJitter: false,
          },
        },
      ],
    },
  },
];

await publish(node.url, [
  call("first"),
  call("work"),
  call("never"),
  // What fails in the middle of a transition.
  aWorkflow("single")
    .state("open")
    .transition("go", { to: "done", onExecutionTasks: hook("first", "work") })
    .state("done")
    .transition("again"),
  // What fails two levels down.
  aWorkflow("inner")
    .state("open")
    .transition("go", { to: "over", otherwise: true, onExecutionTasks: hook("first", "work") })
    .state("over", over),
  aWorkflow("middle")
    .state("open")
    .transition("go", { to: "inside", otherwise: true })
    .state("inside", opens("inner"))
    .transition("on", { to: "over", otherwise: true })
    .state("over", over),
  aWorkflow("outer")
    .state("open")
    .transition("go", { to: "inside" })
    .state("inside", opens("middle"))
    .transition("on", { to: "done", otherwise: true })
    .state("done")
    .transition("again"),
  // What is tried again by its boundary.
  aWorkflow("soon")
    .state("open")
    .transition("go", { to: "done", onExecutionTasks: patient("work", "PT4.5S") })
    .transition("try", { to: "done", onExecutionTasks: patient("never", "PT4.5S") })
    .state("done")
    .transition("again"),
  aWorkflow("late")
    .state("open")
    .transition("go", { to: "done", onExecutionTasks: patient("work", "PT1H") })
    .state("done")
    .transition("again"),
]);

interface Sent {
  flow: string;
  id: string;
}

async function send(
  method: "POST" | "PATCH",
  path: string,
): Promise<{ status: number; id: string }> {
  const answer = await fetch(`${node.url}/api/v1/core/workflows/${path}`, {
    method,
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  return { status: answer.status, id: ((await answer.json()) as { id: string }).id };
}

async function begin(flow: string): Promise<Sent> {
  const { status, id } = await send("POST", `${flow}/instances/start?sync=true`);
  expect(status).toBe(200);
  return { flow, id };
}

const transition = (key: string, { flow, id }: Sent) =>
  send("PATCH", `${flow}/instances/${id}/transitions/${key}?sync=false`);

const retry = ({ flow, id }: Sent) => send("POST", `${flow}/instances/${id}/retry?sync=false`);

const beginAll = () => Promise.all(["outer", "single", "outer", "single"].map(begin));

/** What is dead is known to be dead: nobody waits until a heartbeat is missed. */
async function restart(): Promise<void> {
  expect(await node.exited).toEqual({ code: null, signal: "SIGKILL" });
  await rowsOf(databaseUrl, "delete from node");
  node = await start();
}

/** Nobody is Busy, and nothing is due that would make somebody so. */
const atRest = () =>
  eventually(async () =>
    expect(
      await rowsOf(
        databaseUrl,
        `select id::text from instance where status = 'B'
         union all select name from job where owner is not null or ready_at <= now()`,
      ),
    ).toEqual([]),
  );

interface Row {
  status: string;
  state: string;
  incidents: { isOpen: boolean; retries: number }[];
}

/** The instance, and those it waits or waited for. */
const family = ({ id }: Sent) =>
  rowsOf<Row & { id: string; flow: string }>(
    databaseUrl,
    `with recursive f as (
       select $1::uuid as id, 1 as depth
       union all select c.child_id, depth + 1 from correlation c join f on f.id = c.parent_id)
     select i.id, i.flow, i.status::text, i.current_state as state, coalesce((
       select json_agg(json_build_object('isOpen', n.resolved_at is null, 'retries', n.retry_count)
         order by number) from incident n where n.instance_id = i.id), '[]') as incidents
     from f join instance i on i.id = f.id order by depth`,
    [id],
  );

/** The keys that calls of this path had, made for the instance or its children. */
async function keysOf(path: string, sent: Sent): Promise<string[]> {
  const ids = (await family(sent)).map(({ id }) => id);
  const records = await rowsOf<{ id: string }>(
    databaseUrl,
    "select id from transition_record where instance_id = any ($1)",
    [ids],
  );
  const isOwn = (key: string) => records.some(({ id }) => key.startsWith(`${id}:`));
  return world
    .calls()
    .filter(({ to, key }) => to === path && isOwn(key))
    .map(({ key }) => key);
}

const levels = (flow: string) => (flow === "outer" ? 3 : 1);

/** How often the journal knows each call of `/work` to have been answered; a retry tries it once. */
async function journaledTries(): Promise<Map<string, number>> {
  const rows = await rowsOf<{ key: string; tries: number }>(
    databaseUrl,
    "select execution_key as key, retry + attempts as tries from task_journal where task_key = 'work'",
  );
  return new Map(rows.map(({ key, tries }) => [key, tries]));
}

/**
 * All with one key, and one per try. What was under way when the node died, and only that, was made
 * once more than the journal knows.
 */
async function expectTries(sent: Sent, tries: number, atDeath: ReadonlyMap<string, number>) {
  const keys = await keysOf("/work", sent);
  const [key = ""] = keys;
  expect(new Set(keys).size).toBe(1);
  expect((await journaledTries()).get(key)).toBe(tries);
  const unknown = keys.length - tries;
  expect(unknown).toBeGreaterThanOrEqual(0);
  expect(unknown).toBeLessThanOrEqual(atDeath.get(key) === tries ? 0 : 1);
}

/** Everything failed once, and says so once. */
async function expectFaulted(all: readonly Sent[]): Promise<void> {
  for (const sent of all) {
    const rows = await family(sent);
    expect(rows.map(({ status, incidents }) => ({ status, incidents }))).toEqual(
      Array.from({ length: levels(sent.flow) }, () => ({
        status: "F",
        incidents: [{ isOpen: true, retries: 0 }],
      })),
    );
  }
}

const writing: FaultPointName[] = ["before-settle-write", "after-settle-write"];

test.for(writing)(
  "a node that dies at %s of runs that have failed: one failure is one incident at each level, and no call that was journaled is repeated",
  { timeout: 300_000 },
  async (point) => {
    const all = await beginAll();
    world.fail("/work");
    node.arm(`${point}:4`);

    await Promise.allSettled(all.map((sent) => transition("go", sent)));
    await node.exited;
    const atDeath = await journaledTries();
    await restart();
    await atRest();
    // Those that were not accepted any more.
    for (const sent of all) {
      const [root] = await family(sent);
      if (root?.status === "A") await transition("go", sent);
    }
    await atRest();

    await expectFaulted(all);
    for (const sent of all) await expectTries(sent, 1, atDeath);
    expect(await unfinished(databaseUrl)).toEqual([]);
    expect(await auditOf(databaseUrl)).toEqual([]);
  },
);

const retrying: [FaultPointName, number][] = [
  ["before-retry-write", 1],
  ["after-retry-write", 1],
  ["before-run", 2],
  ["before-task", 2],
  ["after-task", 2],
  ["after-journal", 3],
  ["before-settle-write", 3],
  ["after-settle-write", 3],
  ["before-resume", 2],
];

test.for(retrying)(
  "a node that dies at %s of a retry: the retry happens once, also of a subflow and those above it",
  { timeout: 300_000 },
  async ([point, pass]) => {
    const all = await beginAll();
    world.fail("/work");
    for (const sent of all) await transition("go", sent);
    await atRest();
    await expectFaulted(all);
    world.fail();
    node.arm(`${point}:${pass}`);

    // One after the other, as far as it lives: those of the subflows are first.
    for (const sent of all) await retry(sent).catch(() => undefined);
    await node.exited;
    const atDeath = await journaledTries();
    await restart();
    await atRest();
    for (const sent of all) {
      const [root] = await family(sent);
      if (root?.status === "F") expect(await retry(sent)).toMatchObject({ status: 200 });
    }
    await atRest();

    for (const sent of all) {
      const rows = await family(sent);
      const [root, ...below] = rows;
      expect(root).toMatchObject({ status: "A", state: "done" });
      expect(below.map(({ status }) => status)).toEqual(below.map(() => "C"));
      expect(rows.map(({ incidents }) => incidents)).toEqual(
        rows.map(() => [{ isOpen: false, retries: 1 }]),
      );
      expect(await keysOf("/first", sent)).toHaveLength(1);
      await expectTries(sent, 2, atDeath);
    }
    expect(await unfinished(databaseUrl)).toEqual([]);
    expect(await auditOf(databaseUrl)).toEqual([]);
  },
);

test(
  "a node that dies in a short wait before another attempt: the attempts are counted on",
  { timeout: 300_000 },
  async () => {
    const [healed, hopeless] = await Promise.all([begin("soon"), begin("soon")]);
    world.fail("/work", "/never");
    await transition("go", healed);
    await transition("try", hopeless);
    const journaled = `select 1 from task_journal where instance_id = any ($1)`;
    await eventually(async () => {
      const rows = await rowsOf(databaseUrl, journaled, [[healed.id, hopeless.id]]);
      expect(rows).toHaveLength(2);
    });

    node.signal("SIGKILL");
    world.fail("/never");
    await restart();
    await atRest();

    const [first = ""] = await keysOf("/work", healed);
    expect(await keysOf("/work", healed)).toEqual([first, first]);
    expect(await family(healed)).toMatchObject([{ status: "A", state: "done", incidents: [] }]);
    const [key = ""] = await keysOf("/never", hopeless);
    expect(await keysOf("/never", hopeless)).toEqual([key, key, key]);
    expect(await family(hopeless)).toMatchObject([
      { status: "F", state: "open", incidents: [{ isOpen: true, retries: 2 }] },
    ]);
    expect(await auditOf(databaseUrl)).toEqual([]);
  },
);

test(
  "a node that dies in a long wait before another attempt: the wait is on disk, and goes on",
  { timeout: 300_000 },
  async () => {
    const sent = await begin("late");
    world.fail("/work");
    await transition("go", sent);
    const waiting = () =>
      rowsOf<{ id: string }>(
        databaseUrl,
        `select id from job where instance_id = $1 and owner is null
           and ready_at > now() + interval '50 minutes'`,
        [sent.id],
      );
    await eventually(async () => expect(await waiting()).toHaveLength(1));

    node.signal("SIGKILL");
    world.fail();
    await restart();
    expect(await waiting()).toHaveLength(1);
    expect(await keysOf("/work", sent)).toHaveLength(1);
    // An hour later.
    await rowsOf(
      databaseUrl,
      "update task_journal set finished_at = finished_at - interval '1 h' where instance_id = $1",
      [sent.id],
    );
    await rowsOf(databaseUrl, "update job set ready_at = now() where instance_id = $1", [sent.id]);
    await atRest();

    const [key = ""] = await keysOf("/work", sent);
    expect(await keysOf("/work", sent)).toEqual([key, key]);
    expect(await family(sent)).toMatchObject([{ status: "A", state: "done", incidents: [] }]);
    expect(await auditOf(databaseUrl)).toEqual([]);
  },
);
