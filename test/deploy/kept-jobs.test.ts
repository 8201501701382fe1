/** Jobs outlive the process that runs them, and are forgotten after a while. */
import { Client } from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadConfig } from "../../src/config.ts";
import type { DeployClock } from "../../src/deploy/deploy-clock.ts";
import { openDeploy, type Deploy } from "../../src/deploy/open-deploy.ts";
import { readPublishRequest } from "../../src/deploy/publish-request.ts";
import { createLog } from "../../src/log.ts";
import { openHttpClient } from "../../src/outgoing/open-http-client.ts";
import { openDatabase } from "../../src/storage/postgres/database.ts";
import { createPublishJobStore } from "../../src/storage/postgres/postgres-publish-job-store.ts";
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
  options: { clock?: DeployClock; settings?: object } = {},
): Deploy {
  const http = openHttpClient({ allow: ["loopback"] });
  const database = openDatabase({ url: databaseUrl, poolSize: 2, statementTimeoutMs: 5000 });
  const deploy = openDeploy({
    config: loadConfig({ env: {}, flags: { ...options.settings }, read: () => "{}" }).config,
    log: createLog({ level: "silent", destination: { write() {} } }),
    http,
    jobs: createPublishJobStore(database),
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
    expect(await alive.service.find(jobId)).toMatchObject({ status: "processing" });

    await onDatabase(databaseUrl, "update publish_job set owned_until = now() - interval '1s'");
    clock.advance(1);

    expect(await ended(alive, jobId)).toMatchObject({
      status: "failed",
      progress: { phase: "failed" },
      error: { code: "Interrupted" },
    });
  });
});

describe("two nodes", () => {
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

    expect(await two.job(first)).toMatchObject({ status: "processing" });
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

async function onDatabase(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}
