/** Claims, and what they keep from whom: the promises of `src/storage/job-store.ts`. */
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { Instance } from "../../src/engine/instance.ts";
import { StorageUnavailable } from "../../src/engine/storage-unavailable.ts";
import { runWrite, type JobToAdd } from "../../src/storage/instance-store.ts";
import { openDatabase } from "../../src/storage/postgres/database.ts";
import { createInstanceStore } from "../../src/storage/postgres/postgres-instance-store.ts";
import { createJobStore } from "../../src/storage/postgres/postgres-job-store.ts";
import { createTaskJournal } from "../../src/storage/postgres/postgres-task-journal.ts";
import { anInstance, programOf } from "../support/a-run.ts";
import { aWorkflow } from "../support/a-workflow.ts";
import { aDatabase } from "../support/database.ts";

const program = programOf(aWorkflow("loan").state("draft").transition("submit"));
const [nodeA, nodeB] = [crypto.randomUUID(), crypto.randomUUID()];
const leaseSeconds = 300;

async function aStore() {
  const url = await aDatabase();
  const database = openDatabase({ url, poolSize: 4, statementTimeoutMs: 60_000 });
  onTestFinished(() => database.close());
  const jobs = createJobStore({ queries: database, heartbeat: database, leaseSeconds });
  const lanes = { lanes: 2, patienceMs: 20 };
  const instances = createInstanceStore(database, { lanes, leaseSeconds });
  await jobs.beat(nodeA, 3600);
  await jobs.beat(nodeB, 3600);

  /** An instance that is Busy, with one queued transition. */
  const anInstanceWithJob = async (job: Partial<JobToAdd> = {}) => {
    const instance = anInstance(program, { id: crypto.randomUUID(), status: "B", lastSeq: 0 });
    const { id: instanceId } = instance;
    const row: JobToAdd = {
      id: crypto.randomUUID(),
      type: "tx",
      instanceId,
      sourceState: "draft",
      transitionKey: "submit",
      payload: "{}",
      ...job,
    };
    const started = await instances.start(writeOf(instance, [row]));
    expect(started).toBe("started");
    return { ...instance, rev: 1 };
  };
  const revOf = async ({ id, domain, flow }: Instance) =>
    (await instances.find({ domain, flow, reference: id }))?.rev;
  return { url, database, jobs, instances, anInstanceWithJob, revOf };
}

const writeOf = (instance: Instance, addJobs: JobToAdd[] = []) => runWrite({ instance, addJobs });

test("many jobs and several claimers: each job is claimed once", async () => {
  const { jobs, anInstanceWithJob } = await aStore();
  for (let i = 0; i < 40; i += 1) await anInstanceWithJob();

  const claims = await Promise.all(
    Array.from({ length: 8 }, (_, i) => jobs.claim(i % 2 === 0 ? nodeA : nodeB, 10)),
  );

  const ids = claims.flatMap((claim) => claim.jobs.map((job) => job.id));
  const rest = await jobs.claim(nodeA, 100);
  expect(new Set([...ids, ...rest.jobs.map((job) => job.id)]).size).toBe(40);
  expect(ids.length + rest.jobs.length).toBe(40);
});

test("a job nobody had is claimed without touching its instance", async () => {
  const { jobs, instances, anInstanceWithJob, revOf } = await aStore();
  const instance = await anInstanceWithJob();

  const { jobs: claimed } = await jobs.claim(nodeA, 1);

  expect(claimed).toMatchObject([{ instanceId: instance.id, attempts: 1, payload: "{}" }]);
  expect(await revOf(instance)).toBe(1);
  expect(await instances.write(writeOf(instance))).toBe(true);
});

test("a job of a node that lives is not claimed by another", async () => {
  const { jobs, anInstanceWithJob } = await aStore();
  await anInstanceWithJob({ owner: nodeA });

  expect(await jobs.sweep()).toMatchObject({ freed: 0 });
  expect((await jobs.claim(nodeB, 1)).jobs).toEqual([]);
});

test("whoever takes over a dead node's job keeps that node from writing", async () => {
  const { jobs, instances, anInstanceWithJob } = await aStore();
  const instance = await anInstanceWithJob({ owner: nodeA });
  await jobs.beat(nodeA, -1);

  expect(await jobs.sweep()).toMatchObject({ freed: 1 });
  const { jobs: taken } = await jobs.claim(nodeB, 1);

  expect(taken).toMatchObject([{ instanceId: instance.id, attempts: 2 }]);
  expect(await instances.write(writeOf(instance))).toBe(false);
});

test("a node that was taken for dead is told so with its next heartbeat, once", async () => {
  const { jobs } = await aStore();
  await jobs.beat(nodeA, -1);

  const { nodes } = await jobs.sweep();

  expect(nodes).toEqual([nodeA]);
  expect(await jobs.beat(nodeA, 3600)).toBe(false);
  expect(await jobs.beat(nodeA, 3600)).toBe(true);
  expect(await jobs.sweep()).toEqual({ nodes: [], freed: 0 });
});

test("a node whose heartbeat gets no connection lives on by those it has", async () => {
  const { database, jobs } = await aStore();
  const full = Object.assign(new Error("sorry, too many clients already"), { code: "53300" });
  const heartbeat = {
    query: () => Promise.reject(new StorageUnavailable("It does not answer.", { cause: full })),
  };
  const starved = createJobStore({ queries: database, heartbeat, leaseSeconds });
  await jobs.beat(nodeA, -1);

  await starved.beat(nodeA, 3600);

  expect(await jobs.sweep()).toEqual({ nodes: [], freed: 0 });
});

test("a dead node's child that is still to be started is taken over, though it is not there yet", async () => {
  const { jobs, instances, anInstanceWithJob } = await aStore();
  const parent = await anInstanceWithJob();
  const childId = "00000000-0000-4000-8000-0000000000c1";
  const start = {
    id: "00000000-0000-4000-8000-0000000000c2",
    type: "sf",
    instanceId: childId,
  } as const;
  await jobs.claim(nodeA, 10);
  await instances.write(writeOf(parent, [{ ...start, payload: "{}", owner: nodeA }]));
  expect(await jobs.isStarting(childId)).toBe(true);
  await jobs.beat(nodeA, -1);
  await jobs.sweep();

  const { jobs: taken } = await jobs.claim(nodeB, 10);

  expect(taken.map((it) => it.instanceId)).toContain(childId);
  const again = taken.find((it) => it.instanceId === childId)!;
  expect(await jobs.reload(again, nodeB)).toMatchObject({ id: start.id, attempts: 2 });
  expect(await jobs.reload({ ...again, attempts: 1 }, nodeA)).toBeUndefined();
});

test.for([
  { how: "stopped", free: "releaseAll" },
  { how: "was taken for dead and claims it again itself", free: "sweep" },
] as const)("the earlier claim of a node that $how is worth nothing", async ({ free }) => {
  const { database, jobs, instances, anInstanceWithJob } = await aStore();
  const journal = createTaskJournal(database);
  const instance = await anInstanceWithJob({ owner: nodeA });
  const id = (await database.query<{ id: string }>("select id from job"))[0]!.id;
  const before = { id, attempts: 1 };
  const entry = {
    instanceId: instance.id,
    executionKey: "record:onExecute:0:0",
    jobId: id,
    attempts: 1,
    owner: nodeA,
    retry: 0,
  };
  const result = {
    taskKey: "effect",
    result: { outcome: { name: "effect", response: undefined, data: undefined } },
    tries: 1,
    startedAt: new Date(),
    finishedAt: new Date(),
  };
  expect(await journal.find(entry)).toEqual({ kind: "new" });
  if (free === "releaseAll") expect(await jobs.releaseAll(nodeA, [])).toBe(1);
  else {
    await jobs.leave(nodeA);
    expect(await jobs.sweep()).toMatchObject({ freed: 1 });
  }

  const [now] = (await jobs.claim(free === "releaseAll" ? nodeB : nodeA, 1)).jobs;

  expect(await instances.write(writeOf(instance))).toBe(false);
  expect(await journal.find(entry)).toEqual({ kind: "lost" });
  expect(await journal.add({ ...entry, ...result })).toBe(false);
  expect(await jobs.reload(before, nodeA)).toBeUndefined();
  await jobs.remove(before, nodeA);
  await jobs.release(before, nodeA, 0);
  expect(await jobs.reload(now!, free === "releaseAll" ? nodeB : nodeA)).toEqual(now);
});

test("what a node has in hand is not freed with the rest", async () => {
  const { database, jobs, anInstanceWithJob } = await aStore();
  await anInstanceWithJob({ owner: nodeA });
  await anInstanceWithJob({ owner: nodeA });
  const [held] = await database.query<{ id: string }>("select id from job");

  expect(await jobs.releaseAll(nodeA, [held!.id])).toBe(1);

  const { jobs: free } = await jobs.claim(nodeB, 10);
  expect(free).toHaveLength(1);
  expect(free[0]!.id).not.toBe(held!.id);
});

test("what a node has claimed a moment ago is not freed: it may be newer than the list of what it holds", async () => {
  const { database, jobs, anInstanceWithJob } = await aStore();
  await anInstanceWithJob({ owner: nodeA });

  expect(await jobs.releaseAll(nodeA, [], 60)).toBe(0);
  await database.query("update job set ready_at = ready_at - interval '61 seconds'");

  expect(await jobs.releaseAll(nodeA, [], 60)).toBe(1);
});

test("a takeover does not wait for an instance that is being written", async () => {
  const { url, jobs, anInstanceWithJob } = await aStore();
  const instance = await anInstanceWithJob({ owner: nodeA });
  await jobs.leave(nodeA);
  await jobs.sweep();
  const writer = new Client({ connectionString: url });
  await writer.connect();
  onTestFinished(() => writer.end());
  await writer.query("begin");
  await writer.query("update instance set rev = rev + 1 where id = $1", [instance.id]);

  expect((await jobs.claim(nodeB, 1)).jobs).toEqual([]);
  // In a writer's order: first the instance, then its jobs.
  await writer.query("update job set payload = 'further' where instance_id = $1", [instance.id]);
  await writer.query("commit");

  expect((await jobs.claim(nodeB, 1)).jobs).toMatchObject([{ payload: "further" }]);
});

test("a request that is still queued is found by its idempotency key", async () => {
  const { instances, anInstanceWithJob } = await aStore();
  const payload = JSON.stringify({ request: { idempotencyKey: "once" } });
  const { id: instanceId } = await anInstanceWithJob({ payload });
  const of = { instanceId, transitionKey: "submit", idempotencyKey: "once" };

  expect(await instances.findRepeat(of)).toMatchObject({ status: undefined, lastSeq: undefined });
  expect(await instances.findRepeat({ ...of, idempotencyKey: "twice" })).toBeUndefined();
});
