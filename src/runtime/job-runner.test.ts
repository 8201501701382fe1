import { expect, onTestFinished, test } from "vitest";
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
    hasRun: async () => false,
    isStarting: async () => false,
    takePause: async () => undefined,
    beat: async () => {},
    sweep: async () => 0,
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
  await expect.poll(() => freed().length, { timeout: 3000 }).toBeGreaterThan(before);
  expect(freed().at(-1)).toEqual(["releaseAll", "node-1", [kept.row.id], 3]);
});

test("room that was kept for jobs whose writes failed is given back", async () => {
  const { runner } = await aRunner({}, { most: 2 });

  for (let i = 0; i < 5; i += 1) {
    await expect(prepared(runner).during(Promise.reject(away()))).rejects.toThrow();
  }

  expect(prepared(runner).row.owner).toBe("node-1");
});

test("a wake-up in the middle of a claim is not lost", async () => {
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
  await new Promise((resolve) => setTimeout(resolve, 20));

  claiming.resolve(nothing);

  await expect.poll(() => claims, { timeout: 500 }).toBe(2);
  await expect.poll(() => claims, { timeout: 3000 }).toBeGreaterThan(2);
});

test("what a claim brings is not freed while it is on its way", async () => {
  const claiming = aPromise<Claim>();
  const { asked } = await aRunner({ claim: () => claiming.promise }, { claims: true });
  await expect.poll(() => asked.filter(([it]) => it === "beat").length, { timeout: 4000 }).toBe(3);

  expect(asked.filter(([name]) => name === "releaseAll")).toHaveLength(1);
  claiming.resolve(nothing);
});

test("a runner that stops claims nothing more while it waits for what runs", async () => {
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
  await expect.poll(() => times("claim")).toBe(1);

  const stopped = runner.stop(5000);
  await new Promise((resolve) => setTimeout(resolve, 1200));
  expect(times("claim")).toBe(1);
  expect(prepared(runner).row.owner).toBeUndefined();

  working.resolve();
  await stopped;
  expect(times("leave")).toBe(1);
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
