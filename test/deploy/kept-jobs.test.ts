/** Jobs outlive the process that runs them, and are forgotten after a while. */
import { Client } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadConfig } from "../../src/config.ts";
import type { DeployClock } from "../../src/deploy/deploy-clock.ts";
import { openDeploy, type Deploy } from "../../src/deploy/open-deploy.ts";
import { newJob } from "../../src/deploy/publish-job.ts";
import { readPublishRequest } from "../../src/deploy/publish-request.ts";
import { toStored } from "../../src/deploy/stored-job.ts";
import { createLog } from "../../src/log.ts";
import { openHttpClient } from "../../src/outgoing/open-http-client.ts";
import { openDatabase } from "../../src/storage/postgres/database.ts";
import { createPublishJobStore } from "../../src/storage/postgres/postgres-publish-job-store.ts";
import type { PublishJobStore } from "../../src/storage/publish-job-store.ts";
import { aGatedRuntime, type GatedRuntime } from "../support/a-gated-runtime.ts";
import { aRegistry } from "../support/a-registry.ts";
import { aPackageArchive } from "../support/an-archive.ts";
import { aComponent } from "../support/a-workflow.ts";
import { aDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { packagePath, startDeploy } from "../support/start-deploy.ts";
import { startRuntime } from "../support/start-runtime.ts";

/** A clock that stands still until it is moved. */
function aClock(): DeployClock & { advance(minutes: number): void } {
  let now = Date.parse("2026-01-31T12:00:00Z");
  const works: { ms: number; due: number; work: () => void }[] = [];
  return {
    now: () => new Date(now),
    every(ms, work) {
      const entry = { ms, due: now + ms, work };
      works.push(entry);
      return () => void works.splice(works.indexOf(entry), 1);
    },
    advance(minutes) {
      now += minutes * 60_000;
      for (const entry of works.filter(({ due }) => due <= now)) {
        entry.due = now + entry.ms;
        entry.work();
      }
    },
  };
}

/** A deployment service without its HTTP surface. */
function aDeploy(
  databaseUrl: string,
  runtimeUrl: string,
  options: {
    clock?: DeployClock;
    settings?: object;
    /** Parts of the store that go wrong. */
    trouble?: (store: PublishJobStore) => Partial<PublishJobStore>;
  } = {},
): Deploy {
  const http = openHttpClient({ allow: ["loopback"] });
  const database = openDatabase({ url: databaseUrl, poolSize: 2, statementTimeoutMs: 60_000 });
  const store = createPublishJobStore(database);
  const deploy = openDeploy({
    config: loadConfig({ env: {}, flags: { ...options.settings }, read: () => "{}" }).config,
    log: createLog({ level: "silent", destination: { write() {} } }),
    http,
    jobs: { ...store, ...options.trouble?.(store) },
    runtimeUrl,
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
  onTestFinished(async () => {
    await deploy.service.close();
    await http.close();
    await database.close();
  });
  return deploy;
}

const request = (packageName: string, registry: string) =>
  readPublishRequest({ packageName, npmRegistry: registry }, "standard", { registry });

const ended = (deploy: Deploy, jobId: string) =>
  eventually(async () => {
    const job = await deploy.service.find(jobId);
    expect(["completed", "failed", "cancelled"]).toContain(job?.status);
    return job!;
  });

async function aPackage(tasks = 1): Promise<{ name: string; url: string }> {
  const registry = await aRegistry();
  const files = Array.from({ length: tasks }, (_, i) => [
    `core/Tasks/t${i}.json`,
    aComponent("sys-tasks", `t${i}`, { type: "7", config: {} }),
  ]);
  registry.add("pack", "1.0.0", aPackageArchive(Object.fromEntries(files)));
  return { name: "pack", url: registry.url };
}

/** A runtime that is healthy and publishes everything, if it is let. */
async function aRuntimeThatHolds(): Promise<GatedRuntime> {
  const runtime = await startRuntime();
  const gate = await aGatedRuntime();
  gate.target = runtime.url;
  gate.letThrough(0);
  return gate;
}

test("a job that has ended is forgotten after 30 minutes, by a look every 5", async () => {
  const clock = aClock();
  const { name, url } = await aPackage();
  const runtime = await startRuntime();
  const deploy = aDeploy(await aDatabase(), runtime.url, { clock });
  const { jobId } = await deploy.service.submit(request(name, url));
  await ended(deploy, jobId);
  const isThere = async () => (await deploy.service.find(jobId)) !== undefined;

  clock.advance(29);
  const { jobId: later } = await deploy.service.submit(request("unknown", url));
  await ended(deploy, later);
  expect(await isThere()).toBe(true);
  clock.advance(5);

  await eventually(async () => expect(await isThere()).toBe(false));
  expect(await deploy.service.find(later)).toMatchObject({ status: "failed" });
});

test("retention and sweep are settings, and a job that runs is never forgotten", async () => {
  const clock = aClock();
  const { name, url } = await aPackage();
  const gate = await aRuntimeThatHolds();
  const settings = { "Deploy.RetentionMinutes": 1, "Deploy.SweepMinutes": 2 };
  const deploy = aDeploy(await aDatabase(), gate.url, { clock, settings });
  const { jobId } = await deploy.service.submit(request(name, url));

  clock.advance(100);
  gate.letThrough(1);
  expect(await ended(deploy, jobId)).toMatchObject({ status: "completed" });
  clock.advance(2);

  await eventually(async () => expect(await deploy.service.find(jobId)).toBeUndefined());
});

describe("a job that its process left behind", () => {
  const holding = async () => {
    const { name, url } = await aPackage(3);
    const gate = await aRuntimeThatHolds();
    return { body: { packageName: name, npmRegistry: url }, gate };
  };

  test("ends as failed when the service stops, and the next start tells so", async () => {
    const { body, gate } = await holding();
    const databaseUrl = await aDatabase();
    const settings = { "Runtime.Url": gate.url, "Deploy.Concurrency": 1 };
    const first = await startDeploy({ databaseUrl, settings });
    const running = await first.submit(body);
    const waiting = await first.submit(body);
    gate.letThrough(1);
    await eventually(async () => expect((await first.job(running)).progress.current).toBe(1));

    await first.runtime.stop();
    const second = await startDeploy({ databaseUrl, settings });

    expect(await second.job(running)).toMatchObject({
      status: "failed",
      progress: { phase: "failed", current: 1, total: 3 },
      error: {
        code: "Interrupted",
        phase: "uploading",
        message: expect.stringContaining("Publish again") as string,
      },
      results: { success: false, successful: ["core/Tasks/t0.json"] },
    });
    expect(await second.job(waiting)).toMatchObject({
      status: "failed",
      error: { code: "Interrupted" },
      results: null,
    });
  });

  test("ends as failed once its process has shown no life for a while", async () => {
    const { body, gate } = await holding();
    const databaseUrl = await aDatabase();
    const dead = aDeploy(databaseUrl, gate.url, { clock: aClock() });
    const { jobId } = await dead.service.submit(request(body.packageName, body.npmRegistry));
    await eventually(() => expect(gate.published).toHaveLength(3));
    const clock = aClock();
    const alive = aDeploy(databaseUrl, gate.url, { clock });
    await eventually(async () =>
      expect(await alive.service.find(jobId)).toMatchObject({
        status: "processing",
        progress: { phase: "uploading" },
      }),
    );

    await onDatabase(databaseUrl, "update publish_job set owned_until = now() - interval '1s'");
    clock.advance(1);

    expect(await ended(alive, jobId)).toMatchObject({
      status: "failed",
      progress: { phase: "failed" },
      error: { code: "Interrupted", phase: "uploading" },
    });
  });
});

describe("the queue goes on", () => {
  /** Does it, and its first answer is lost on the way back. */
  const firstAnswerLost = <A extends unknown[], R>(work: (...args: A) => Promise<R>) => {
    let calls = 0;
    return async (...args: A): Promise<R> => {
      calls += 1;
      const isFirst = calls === 1;
      const answer = await work(...args);
      if (isFirst) throw new Error("connection lost");
      return answer;
    };
  };

  test("when of two jobs that come together the later is heard of first", async () => {
    const { name, url } = await aPackage();
    const runtime = await startRuntime();
    let tell = () => {};
    const told = new Promise<void>((resolve) => (tell = resolve));
    let kept = 0;
    const deploy = aDeploy(await aDatabase(), runtime.url, {
      trouble: ({ add }) => ({
        async add(job, owner) {
          const number = await add(job, owner);
          kept += 1;
          if (kept === 1) await told;
          return number;
        },
      }),
    });

    const first = deploy.service.submit(request(name, url));
    await eventually(() => expect(kept).toBe(1));
    const second = await deploy.service.submit(request(name, url));
    tell();

    for (const { jobId } of [await first, second]) {
      expect(await ended(deploy, jobId)).toMatchObject({ status: "completed" });
    }
  });

  test("when the service does not hear that a job may start", async () => {
    const { name, url } = await aPackage();
    const runtime = await startRuntime();
    const deploy = aDeploy(await aDatabase(), runtime.url, {
      trouble: ({ start }) => ({ start: firstAnswerLost(start) }),
    });

    const { jobId } = await deploy.service.submit(request(name, url));

    expect(await ended(deploy, jobId)).toMatchObject({ status: "completed" });
  });

  test("when the service does not hear that a job is kept", async () => {
    const { name, url } = await aPackage();
    const runtime = await startRuntime();
    const databaseUrl = await aDatabase();
    const clock = aClock();
    const deploy = aDeploy(databaseUrl, runtime.url, {
      clock,
      trouble: ({ add }) => ({ add: firstAnswerLost(add) }),
    });
    await expect(deploy.service.submit(request(name, url))).rejects.toThrow("connection lost");
    const { jobId } = await deploy.service.submit(request(name, url));

    await onDatabase(
      databaseUrl,
      "update publish_job set owned_until = now() - interval '1s' where number = 1",
    );
    clock.advance(1);

    expect(await ended(deploy, jobId)).toMatchObject({ status: "completed" });
  });
});

describe("two nodes", () => {
  test("do not start a job beside one that runs, also when its number is lower", async () => {
    const database = openDatabase({
      url: await aDatabase(),
      poolSize: 1,
      statementTimeoutMs: 60_000,
    });
    onTestFinished(() => database.close());
    const store = createPublishJobStore(database);
    const now = new Date();
    const [one, two] = [crypto.randomUUID(), crypto.randomUUID()];
    const running = toStored(newJob(crypto.randomUUID(), "pack", now));
    const late = toStored(newJob(crypto.randomUUID(), "pack", now));
    await store.add(running, one);
    await store.start(running.jobId, one, now);
    // It has taken its number first, and was on its way longer.
    await database.query(
      `insert into publish_job overriding system value select (jsonb_populate_record(j,
         jsonb_build_object('id', $1::text, 'owner', $2::text, 'number', 0, 'status', 'accepted'))).*
       from publish_job j`,
      [late.jobId, two],
    );

    expect(await store.start(late.jobId, two, now)).toBe(false);

    await store.finish({ ...running, status: "completed" }, one);
    expect(await store.start(late.jobId, two, now)).toBe(true);
  });

  test("run their jobs one after another, and each can be asked about and cancelled on the other", async () => {
    const { name, url } = await aPackage();
    const gate = await aRuntimeThatHolds();
    const databaseUrl = await aDatabase();
    const one = aDeploy(databaseUrl, gate.url);
    const two = await startDeploy({
      databaseUrl,
      settings: { "Runtime.Url": gate.url, "Deploy.RuntimeWaitSeconds": 1 },
    });
    const { jobId: first } = await one.service.submit(request(name, url));
    await eventually(() => expect(gate.published).toHaveLength(1));
    const second = await two.submit({ packageName: name, npmRegistry: url });

    await eventually(async () =>
      expect(await two.job(first)).toMatchObject({ status: "processing" }),
    );
    expect(await two.job(second)).toMatchObject({ status: "accepted" });
    expect(await two.post(`${packagePath}/cancel/${first}`)).toMatchObject({ status: 202 });
    // The other node hears of it with its next beat.
    await eventually(async () =>
      expect(await one.service.find(first)).toMatchObject({ cancelRequested: true }),
    );
    gate.letThrough(Number.POSITIVE_INFINITY);

    expect(await two.ended(first)).toMatchObject({ status: "cancelled" });
    expect(await two.ended(second)).toMatchObject({ status: "completed" });
  });
});

test("a deployment service that runs apart publishes to the runtime it is told of", async () => {
  const { name, url } = await aPackage();
  const runtime = await startRuntime();

  const apart = await startDeploy({ roles: ["deploy"], settings: { "Runtime.Url": runtime.url } });
  const job = await apart.deploy({ packageName: name, npmRegistry: url });

  expect(job).toMatchObject({ status: "completed", results: { success: true } });
  const path = "/api/v1/core/workflows/sys-tasks/instances/t0";
  expect((await runtime.get(path)).status).toBe(200);
});

test("one that runs apart publishes no sample to its own database", async () => {
  const { runtime } = await startDeploy({
    roles: ["deploy"],
    settings: { "Runtime.Url": "http://127.0.0.1:1", "Runtime.Samples": "on" },
  });

  expect(await onDatabase(runtime.databaseUrl, "select domain from component")).toEqual([]);
});

test("one that runs apart and is told of no runtime does not start", async () => {
  await expect(startDeploy({ roles: ["deploy"] })).rejects.toThrow("MILLRACE_RUNTIME_URL");
});

test("a runtime that stays away ends the job as failed", async () => {
  const gone = "http://127.0.0.1:1";
  const apart = await startDeploy({
    roles: ["deploy"],
    settings: { "Runtime.Url": gone, "Deploy.RuntimeWaitSeconds": 0 },
  });

  const job = await apart.deploy({ packageName: "any" });
  const health = await apart.get("/health");
  const published = await apart.post("/api/v1/definitions/publish", {});

  expect(job).toMatchObject({
    status: "failed",
    results: null,
    error: { code: "RuntimeUnreachable", phase: "waiting-for-vnext" },
  });
  expect(health).toMatchObject({ status: 503, body: { vnextApp: "unreachable" } });
  expect(published).toMatchObject({ status: 503, body: { code: "PublishJob:700005" } });
});

async function onDatabase(url: string, sql: string): Promise<object[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<object>(sql);
  await client.end();
  return rows;
}
