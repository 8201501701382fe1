import { expect, onTestFinished, test, vi } from "vitest";
import type { Instance } from "../engine/instance.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";
import type { Claim, Job, JobStore } from "../storage/job-store.ts";
import { createJobRunner, type JobRunnerOptions } from "./job-runner.ts";

const aJob: Job = {
  id: "job-1",
  type: "tx",
  instanceId: "instance-1",
  domain: "core",
  flow: "loan",
  sourceState: "draft",
  transitionKey: "submit",
  payload: "{}",
  attempts: 1,
};
const instance = { id: "instance-1", domain: "core", flow: "loan" } as Instance;
const away = () => new StorageUnavailable("The database does not answer.");
const nothing: Claim = { jobs: [], nextDueMs: undefined };

/** A runner on a store that does nothing but what the test says; told what the store is asked. */
async function aRunner(store: Partial<JobStore>, options: Partial<JobRunnerOptions> = {}) {
  const asked: unknown[][] = [];
  const fallback: JobStore = {
    claim: async () => nothing,
    reload: async () => undefined,
    release: async () => {},
    releaseAll: async () => 0,
    remove: async () => {},
    isThere: async () => false,
    hasRun: async () => false,
    isStarting: async () => false,
    takePause: async () => undefined,
    beat: async () => true,
    sweep: async () => ({ nodes: [], freed: 0 }),
    leave: async () => {},
  };
  const told = Object.fromEntries(
    Object.entries({ ...fallback, ...store }).map(([name, work]) => [
      name,
      (...args: unknown[]) => {
        asked.push([name, ...args]);
        return (work as (...args: unknown[]) => unknown)(...args);
      },
    ]),
  ) as unknown as JobStore;
  const runner = createJobRunner({
    store: told,
    tools: { now: () => new Date(0), uuid: () => crypto.randomUUID(), ulid: () => "" },
    nodeId: "node-1",
    run: async () => ({ kind: "done", instance }),
    faultPoint: () => {},
    onTrouble: () => {},
    onEvent: () => {},
    claims: false,
    ...options,
  });
  await runner.start();
  onTestFinished(() => runner.stop(0));
  return { runner, asked, times: (name: string) => asked.filter(([it]) => it === name).length };
}

/** The promise, and who keeps it. */
function aPromise<T = void>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((keep) => {
    resolve = keep;
  });
  return { promise, resolve };
}

const prepared = (runner: Awaited<ReturnType<typeof aRunner>>["runner"]) =>
  runner.prepare({
    type: "tx",
    instance,
    sourceState: "draft",
    transitionKey: "submit",
    payload: "{}",
  });

test("a job whose last write may have been made is not run again when it is gone", async () => {
  let runs = 0;
  const { runner } = await aRunner(
    { reload: async () => undefined },
    {
      run: async () => {
        runs += 1;
        throw away();
      },
    },
  );
  prepared(runner).begin(instance);

  await expect.poll(() => runner.running).toBe(0);

  expect(runs).toBe(1);
});

test("a job that is still there after trouble goes on from what is on disk", async () => {
  const payloads: (string | undefined)[] = [];
  const { runner } = await aRunner(
    { reload: async () => ({ ...aJob, payload: '{"checkpoint":{}}' }) },
    {
      run: async (job) => {
        payloads.push(job.payload);
        if (payloads.length === 1) throw away();
        return { kind: "done", instance };
      },
    },
  );
  prepared(runner).begin(instance);

  await expect.poll(() => runner.running).toBe(0);

  expect(payloads).toEqual(["{}", '{"checkpoint":{}}']);
});

test("an overtaken run begins anew, and gives way when that happens again and again", async () => {
  let runs = 0;
  const { runner, times } = await aRunner(
    { reload: async () => aJob },
    {
      run: async () => {
        runs += 1;
        return { kind: "overtaken" };
      },
    },
  );
  prepared(runner).begin(instance);

  await expect.poll(() => runner.running).toBe(0);

  expect(runs).toBe(20);
  expect(times("release")).toBe(1);
});

test("a row that may have been written is freed with the next heartbeat", async () => {
  const { runner, asked } = await aRunner({});
  const lost = prepared(runner);
  const kept = prepared(runner);

  await expect(lost.during(Promise.reject(away()))).rejects.toThrow("does not answer");

  const freed = () => asked.filter(([name]) => name === "releaseAll");
  const before = freed().length;
  await expect.poll(() => freed().length).toBeGreaterThan(before);
  expect(freed().at(-1)).toEqual(["releaseAll", "node-1", [kept.row.id], 3]);
});

test("room that was kept for jobs whose writes failed is given back", async () => {
  const { runner } = await aRunner({}, { most: 2 });

  for (let i = 0; i < 5; i += 1) {
    await expect(prepared(runner).during(Promise.reject(away()))).rejects.toThrow();
  }

  expect(prepared(runner).row.owner).toBe("node-1");
});

/** Time stands still until the test lets it pass. */
function ownTime(): (ms: number) => Promise<unknown> {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  return (ms) => vi.advanceTimersByTimeAsync(ms);
}

test("a wake-up in the middle of a claim is not lost", async () => {
  const pass = ownTime();
  const claiming = aPromise<Claim>();
  let claims = 0;
  const { runner } = await aRunner(
    {
      claim: () => {
        claims += 1;
        return claims === 1 ? claiming.promise : Promise.resolve(nothing);
      },
    },
    { claims: true },
  );
  runner.noticed([{ id: "timer-1", type: "sx", instanceId: "instance-1", delayMs: 5 }]);
  await pass(20);
  expect(claims).toBe(1);

  claiming.resolve(nothing);

  await pass(0);
  expect(claims).toBe(2);
  await pass(1000);
  expect(claims).toBe(3);
});

test("what a claim brings is not freed while it is on its way", async () => {
  const pass = ownTime();
  const claiming = aPromise<Claim>();
  const { asked, times } = await aRunner({ claim: () => claiming.promise }, { claims: true });
  await pass(2000);
  expect(times("beat")).toBe(3);

  expect(asked.filter(([name]) => name === "releaseAll")).toHaveLength(1);
  claiming.resolve(nothing);
});

test("a runner that stops claims nothing more while it waits for what runs", async () => {
  const pass = ownTime();
  const working = aPromise();
  const { runner, times } = await aRunner(
    {},
    {
      claims: true,
      run: async () => {
        await working.promise;
        return { kind: "done", instance };
      },
    },
  );
  prepared(runner).begin(instance);
  await pass(0);
  expect(times("claim")).toBe(1);

  const stopped = runner.stop(5000);
  await pass(1200);
  expect(times("claim")).toBe(1);
  expect(prepared(runner).row.owner).toBeUndefined();

  working.resolve();
  await stopped;
  expect(times("leave")).toBe(1);
});

test("a runner that is to stop soon takes nothing new, and goes on living", async () => {
  const pass = ownTime();
  const { runner, times } = await aRunner({}, { claims: true });
  await pass(0);
  expect(times("claim")).toBe(1);

  runner.drain();
  await pass(3000);

  expect(times("claim")).toBe(1);
  expect(prepared(runner).row.owner).toBeUndefined();
  expect(times("beat")).toBeGreaterThan(2);
});

test("those who run the service hear of nodes that are gone, and of one taken for dead", async () => {
  const pass = ownTime();
  const told: unknown[] = [];
  let beats = 0;
  await aRunner(
    {
      // Not known before its first beat, nor before the third.
      beat: async () => ![1, 3].includes((beats += 1)),
      sweep: async () => ({ nodes: beats === 2 ? ["node-2"] : [], freed: 5 }),
    },
    { onEvent: (event, fields) => told.push([event, fields]) },
  );

  await pass(3000);

  expect(told).toEqual([
    ["NodesGone", { nodes: ["node-2"], jobs: 5 }],
    ["TakenForDead", { node: "node-1" }],
  ]);
});

test("a runner that stops says how much it leaves to others", async () => {
  const told: unknown[] = [];
  const { runner } = await aRunner(
    { releaseAll: async () => 3 },
    { onEvent: (event, fields) => told.push([event, fields]) },
  );

  await runner.stop(0);

  expect(told).toEqual([["JobsLeftToOthers", { jobs: 3 }]]);
});

test("those who run the service hear when the heartbeat is back, and how long it was away", async () => {
  const pass = ownTime();
  const told: unknown[] = [];
  let beats = 0;
  await aRunner(
    {
      beat: async () => {
        beats += 1;
        if (beats > 1 && beats < 6) throw away();
        return true;
      },
    },
    { onEvent: (event, fields) => told.push([event, fields]) },
  );

  await pass(8000);

  expect(told).toEqual([["HeartbeatBack", { seconds: 4 }]]);
});

test("after trouble with the database nobody is taken for dead before all could say that they live", async () => {
  const pass = ownTime();
  let isAway = false;
  const { times } = await aRunner({
    beat: async () => {
      if (isAway) throw away();
      return true;
    },
  });
  isAway = true;
  await pass(8000);
  const sweeps = times("sweep");

  isAway = false;
  await pass(4000);
  expect(times("sweep")).toBe(sweeps);

  await pass(4000);
  expect(times("sweep")).toBeGreaterThan(sweeps);
});

test("a caller who waits hears of trouble at once, and the job is done all the same", async () => {
  let runs = 0;
  const { runner } = await aRunner(
    { reload: async () => aJob },
    {
      run: async () => {
        runs += 1;
        if (runs === 1) throw away();
        return { kind: "done", instance };
      },
    },
  );
  const execution = { job: aJob } as Parameters<typeof runner.run>[0];

  await expect(runner.run(execution)).rejects.toThrow("does not answer");

  await expect.poll(() => runs).toBe(2);
});
