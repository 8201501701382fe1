import { Client } from "pg";
import { expect, test } from "vitest";
import { aComponent } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { untilListening } from "../support/listening.ts";
import { startRuntime, type TestRuntime } from "../support/start-runtime.ts";

const task = aComponent("sys-tasks", "note", { type: "7", config: {} });
const readTask = (app: TestRuntime) => app.get("/api/v1/core/workflows/sys-tasks/instances/note");

/** Behind the catalogue's back, as a restored backup or a careful hand would. */
async function forgetEverything({ databaseUrl }: TestRuntime) {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query("delete from component");
  await client.end();
}

test.each(["/api/v1", "/api/v1.0"])(
  "GET %s/definitions/re-initialize answers 200 without a body",
  async (base) => {
    const app = await startRuntime();

    const answer = await app.get(`${base}/definitions/re-initialize?fullLoad=true`);

    expect(answer).toMatchObject({ status: 200, text: "" });
    expect(answer.headers["content-length"]).toBe("0");
  },
);

test("definitions are read anew from the database", async () => {
  const app = await startRuntime();
  await app.publish(task);
  await forgetEverything(app);

  const before = await app.post("/api/v1/definitions/publish", task);
  await app.get("/api/v1/definitions/re-initialize");
  const after = await app.post("/api/v1/definitions/publish", task);

  expect([before.status, after.status]).toEqual([409, 200]);
});

test.each(["/api/v1", "/api/v1.0"])(
  "POST %s/definitions/publish/completed answers 200 with what was done",
  async (base) => {
    const app = await startRuntime();
    await app.publish(task);
    await forgetEverything(app);

    const answer = await app.post(`${base}/definitions/publish/completed`, {
      packageName: "@example/hr",
      version: "1.0.0",
      domain: "core",
    });

    expect(answer).toMatchObject({
      status: 200,
      body: { success: true, hooks: [{ name: "definition-cache", outcome: "reloaded" }] },
    });
    expect(await readTask(app)).toMatchObject({ status: 404 });
  },
);

test("publish/completed needs no body, and may be called again", async () => {
  const app = await startRuntime();

  const first = await app.post("/api/v1/definitions/publish/completed");
  const second = await app.post("/api/v1/definitions/publish/completed", {});

  expect(first).toMatchObject({ status: 200, body: { success: true } });
  expect(second).toMatchObject({ status: 200, body: { success: true } });
});

test("publish/completed of a foreign domain answers 200 without success", async () => {
  const app = await startRuntime({ settings: { "Runtime.Domain": "core" } });

  const answer = await app.post("/api/v1/definitions/publish/completed", { domain: "hr" });

  expect(answer).toMatchObject({
    status: 200,
    body: { success: false, hooks: [{ outcome: "failed", message: expect.any(String) }] },
  });
});

test("other nodes read anew too", async () => {
  const app = await startRuntime();
  const other = await startRuntime({ databaseUrl: app.databaseUrl });
  await untilListening(app.databaseUrl, 2);
  await other.publish(task);
  await forgetEverything(app);

  await app.get("/api/v1/definitions/re-initialize");

  await eventually(async () => expect((await readTask(other)).status).toBe(404));
});
