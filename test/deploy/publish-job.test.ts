import { describe, expect, test } from "vitest";
import { aGatedRuntimeForFile } from "../support/a-gated-runtime.ts";
import { aRegistryForFile } from "../support/a-registry.ts";
import { aPackageArchive } from "../support/an-archive.ts";
import { aComponent } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { packagePath, startDeployForFile, type JobBody } from "../support/start-deploy.ts";

const registry = await aRegistryForFile();
const gate = await aGatedRuntimeForFile();
const app = await startDeployForFile({
  settings: { "Runtime.Url": gate.url, "Deploy.Concurrency": 1, "Deploy.QueueLimit": 3 },
});
gate.target = app.runtime.url;
const everything = Number.POSITIVE_INFINITY;

let count = 0;
/** A package of so many tasks; their keys begin with the package's name. */
function aPackage(tasks: number): { packageName: string; npmRegistry: string; files: string[] } {
  count += 1;
  const packageName = `pack-${"abcdefghijklmnopqrstuvwxyz"[count]}`;
  const keys = Array.from({ length: tasks }, (_, i) => `${packageName}-${i}`);
  const files = keys.map((key) => [
    `core/Tasks/${key}.json`,
    aComponent("sys-tasks", key, { type: "7", config: {} }),
  ]);
  registry.add(packageName, "1.0.0", aPackageArchive(Object.fromEntries(files)));
  return { packageName, npmRegistry: registry.url, files: files.map(([path]) => path as string) };
}

const until = (jobId: string, progress: Partial<JobBody["progress"]>) =>
  eventually(async () => {
    const job = await app.job(jobId);
    expect(job.progress).toMatchObject(progress);
    return job;
  });
const cancel = (jobId: string) => app.post(`${packagePath}/cancel/${jobId}`);
const isPublished = async (key: string) =>
  (await app.runtime.get(`/api/v1/core/workflows/sys-tasks/instances/${key}`)).status === 200;

test("the progress is true at every poll", async () => {
  const { files, ...body } = aPackage(4);
  gate.letThrough(0);

  const jobId = await app.submit(body);

  for (const current of [0, 1, 2, 3]) {
    const job = await until(jobId, { current, total: 4, currentFile: files[current]! });
    expect(job).toMatchObject({ status: "processing", progress: { phase: "uploading" } });
    const key = `${body.packageName}-${current}`;
    await eventually(() => expect(gate.published.at(-1)).toBe(key));
    gate.letThrough(1);
  }
  const ended = await app.ended(jobId);
  expect(ended.progress).toEqual({ current: 4, total: 4, currentFile: "", phase: "done" });
  expect(ended.results?.successful).toEqual(files);
});

test("jobs run one after another; one that waits is accepted", async () => {
  const first = aPackage(1);
  const second = aPackage(1);
  gate.letThrough(0);

  const firstId = await app.submit(first);
  const secondId = await app.submit(second);
  await until(firstId, { phase: "uploading", total: 1 });

  expect(await app.job(secondId)).toMatchObject({
    status: "accepted",
    progress: { current: 0, total: 0, currentFile: "", phase: "waiting-for-vnext" },
    results: null,
    error: null,
  });
  gate.letThrough(everything);
  expect((await app.ended(firstId)).status).toBe("completed");
  expect((await app.ended(secondId)).status).toBe("completed");
  expect(gate.published.slice(-2)).toEqual([`${first.packageName}-0`, `${second.packageName}-0`]);
});

test("more jobs than may wait are refused with 503 until some have ended", async () => {
  gate.letThrough(0);
  const waiting = [aPackage(1), aPackage(1), aPackage(1)];
  const ids = [];
  for (const body of waiting) ids.push(await app.submit(body));

  const refused = await app.post(packagePath, waiting[0]);

  expect(refused).toMatchObject({ status: 503, body: { code: "PublishJob:700004" } });
  gate.letThrough(everything);
  for (const id of ids) await app.ended(id);
});

describe("cancel", () => {
  test("between two files: what is published stays, nothing more is published, nothing re-initialized", async () => {
    const { files, ...body } = aPackage(4);
    gate.letThrough(0);
    const seenBefore = gate.seen.length;
    const jobId = await app.submit({ ...body, reInitialize: true });
    await until(jobId, { currentFile: files[0]! });
    gate.letThrough(1);
    await until(jobId, { current: 1, currentFile: files[1]! });

    const answer = await cancel(jobId);
    const meanwhile = await app.job(jobId);
    const again = await cancel(jobId);
    gate.letThrough(everything);
    const job = await app.ended(jobId);

    expect(answer).toMatchObject({
      status: 202,
      headers: { "x-app-version": expect.any(String) as string },
    });
    expect(answer.body).toEqual({
      jobId,
      status: "processing",
      cancelRequested: true,
      message: expect.any(String) as string,
    });
    expect(meanwhile).toMatchObject({
      status: "processing",
      cancelRequested: true,
      cancelledAt: null,
    });
    expect(again.status).toBe(202);
    expect(job).toMatchObject({
      status: "cancelled",
      error: null,
      cancelRequested: true,
      cancelledAt: expect.stringMatching(/Z$/) as string,
      progress: { current: 2, total: 4, phase: "cancelled" },
      // The second was on its way.
      results: {
        success: false,
        packageName: body.packageName,
        appDomain: null,
        successful: files.slice(0, 2),
        failed: [],
      },
    });
    expect(await isPublished(`${body.packageName}-0`)).toBe(true);
    expect(await isPublished(`${body.packageName}-2`)).toBe(false);
    expect(gate.seen.slice(seenBefore).join("\n")).not.toContain("re-initialize");
  });

  test("of a job that waits its turn ends it at once", async () => {
    gate.letThrough(0);
    const running = await app.submit(aPackage(1));
    const waiting = await app.submit(aPackage(1));

    expect((await cancel(waiting)).status).toBe(202);

    const job = await app.ended(waiting);
    expect(job).toMatchObject({ status: "cancelled", progress: { phase: "cancelled", total: 0 } });
    expect(job.results).toMatchObject({ success: false, successful: [], failed: [], skipped: [] });
    gate.letThrough(everything);
    expect((await app.ended(running)).status).toBe("completed");
  });

  test("is seen while the job waits for the runtime", async () => {
    gate.target = undefined;
    const jobId = await app.submit(aPackage(1));
    await eventually(async () => expect((await app.job(jobId)).status).toBe("processing"));

    await cancel(jobId);

    expect(await app.ended(jobId)).toMatchObject({ status: "cancelled" });
    gate.target = app.runtime.url;
  });

  test("is seen during the download", async () => {
    const name = "never-ends";
    registry.on(`/${name}`, (_request, response) => response.writeHead(200).write("{"));
    const jobId = await app.submit({ packageName: name, npmRegistry: registry.url });
    await until(jobId, { phase: "downloading" });
    await eventually(() => expect(registry.seen.at(-1)?.url).toBe(`/${name}`));

    await cancel(jobId);

    expect(await app.ended(jobId)).toMatchObject({ status: "cancelled", error: null });
  });

  test("of a job that has ended is 409, of an unknown one 404", async () => {
    const { jobId } = await app.deploy(aPackage(1));

    expect(await cancel(jobId)).toMatchObject({
      status: 409,
      body: { code: "PublishJob:700002", detail: expect.stringContaining("completed") as string },
    });
    // What `curl -d ''` sends.
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect(await app.post(`${packagePath}/cancel/${jobId}`, "", form)).toMatchObject({
      status: 409,
    });
    for (const unknown of ["x", crypto.randomUUID()]) {
      expect(await cancel(unknown)).toMatchObject({
        status: 404,
        body: { code: "PublishJob:700001" },
      });
      expect(await app.get(`${packagePath}/status/${unknown}`)).toMatchObject({ status: 404 });
    }
  });
});

test("reInitialize asks the runtime for it at the end", async () => {
  const before = gate.seen.length;

  const { status } = await app.deploy({ ...aPackage(1), reInitialize: true });

  expect(status).toBe("completed");
  const asked = gate.seen.slice(before).filter((line) => !line.startsWith("GET /health"));
  expect(asked).toEqual([
    "POST /api/v1/definitions/publish",
    "GET /api/v1/definitions/re-initialize",
  ]);
});

test("a runtime that is away for a moment costs no file", async () => {
  const { files, ...body } = aPackage(1);
  gate.letThrough(0);
  const jobId = await app.submit(body);
  await until(jobId, { currentFile: files[0]! });
  const before = gate.published.length;

  gate.target = undefined;
  gate.letThrough(everything);
  await eventually(() => expect(gate.published.length).toBeGreaterThan(before));
  gate.target = app.runtime.url;

  expect((await app.ended(jobId)).results).toMatchObject({ success: true, successful: files });
});

test("/health is 503 while the runtime is not healthy", async () => {
  gate.target = undefined;
  const answer = await app.get("/health");
  gate.target = app.runtime.url;

  expect(answer).toMatchObject({
    status: 503,
    headers: { "x-app-version": expect.any(String) as string },
    body: { status: "unhealthy", vnextApp: "unhealthy", timestamp: expect.any(String) as string },
  });
});

describe("the events of a job", () => {
  const eventsIn = (text: string) =>
    text
      .split("\n\n")
      .filter((block) => block.includes("event: "))
      .map((block) => ({
        event: /^event: (.*)$/m.exec(block)?.[1],
        job: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "null") as JobBody,
      }));

  test("come as it goes on and end with it", async () => {
    const { files, ...body } = aPackage(2);
    gate.letThrough(0);
    const jobId = await app.submit(body);
    await until(jobId, { currentFile: files[0]! });

    const stream = await fetch(`${app.url}${packagePath}/status/${jobId}/events`, {
      headers: { accept: "text/event-stream" },
    });
    gate.letThrough(everything);
    const events = eventsIn(await stream.text());

    expect(stream.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(stream.headers.get("x-app-version")).toMatch(/^\d/);
    expect(events[0]).toMatchObject({
      event: "progress",
      job: { status: "processing", progress: { current: 0, total: 2, phase: "uploading" } },
    });
    expect(events.at(-1)).toMatchObject({
      event: "ended",
      job: { status: "completed", results: { successful: files } },
    });
    expect(events.slice(0, -1).every(({ event }) => event === "progress")).toBe(true);
  });

  test("of a job that has ended are its end", async () => {
    const { jobId } = await app.deploy(aPackage(1));

    const answer = await app.get(`${packagePath}/status/${jobId}/events`);

    expect(eventsIn(answer.text)).toMatchObject([{ event: "ended", job: { jobId } }]);
  });

  test("of an unknown job are 404", async () => {
    const answer = await app.get(`${packagePath}/status/${crypto.randomUUID()}/events`);

    expect(answer.status).toBe(404);
  });
});
