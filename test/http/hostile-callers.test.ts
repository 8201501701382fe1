/** Requests that are meant to hurt: to the service itself, or through somebody's browser. */
import { describe, expect, test } from "vitest";
import { aSchema, aWorkflow } from "../support/a-workflow.ts";
import { codeOf, idOf, instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({
  settings: {
    "Http.BodyLimitBytes": 20_000_000,
    "Http.CorsOrigins": ["https://console.example"],
  },
  roles: ["api", "worker", "deploy"],
});
await app.publish(
  aSchema("line", {
    type: "object",
    additionalProperties: { type: "string", "x-labels": { en: "A line" } },
  }),
  aWorkflow("order")
    .state("open")
    .transition("note")
    .transition("lines", { schema: "line" })
    .state("done", { type: "finish", subType: "success" }),
);
const orders = instancesOf(app, "order");

describe("a page of a stranger, in the browser of somebody whose machine this is", () => {
  const form = { "content-type": "application/x-www-form-urlencoded" };

  test.each([
    "https://evil.example",
    "http://localhost.evil.example",
    "http://127.0.0.1.x",
    "null",
  ])("%s starts nothing and publishes nothing", async (origin) => {
    const started = await orders.start("a=1", { headers: { ...form, origin } });
    const polled = await app.get(orders.path, { origin });
    const published = await fetch(`${app.deployUrl}/api/package/publish`, {
      method: "POST",
      headers: { "content-type": "application/json", origin },
      body: "{}",
    });

    expect(codeOf(started)).toBe("403 forbidden.Http:403001");
    expect(polled.status).toBe(200);
    expect(polled.headers["access-control-allow-origin"]).toBeUndefined();
    expect(published.status).toBe(403);
  });

  test.each([
    "http://localhost:5173",
    "http://127.0.0.1:3000",
    "http://[::1]",
    "https://console.example",
  ])("%s is no stranger", async (origin) => {
    const answer = await orders.start("a=1", { headers: { ...form, origin } });

    expect(answer.status).toBe(200);
  });
});

test("an instance does not grow beyond what a node can bear", async () => {
  const id = await orders.begin({ attributes: { a: "x".repeat(9_000_000) } });

  const waited = await orders.send(id, "note", { attributes: { b: "x".repeat(9_000_000) } });
  const queued = await orders.send(
    id,
    "note",
    { attributes: { b: "x".repeat(9_000_000) } },
    { query: "sync=false" },
  );
  const started = await orders.start({ attributes: { a: "x".repeat(17_000_000) } });
  const replaced = await orders.send(id, "note", { attributes: { a: "short" } });

  for (const { status, body } of [waited, queued, started]) {
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: {
        validationErrors: [{ members: ["root"], message: expect.stringContaining("16777216") }],
      },
    });
  }
  expect(replaced).toMatchObject({ status: 200, body: { id, attributes: { a: "short" } } });
});

test("thousands of mistakes in thousands of languages are told at once", async () => {
  const id = idOf(await orders.start());
  const attributes = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i]));
  const language = Array.from({ length: 19_000 }, () => "fr").join(",");

  const answer = await orders.send(
    id,
    "lines",
    { attributes },
    { headers: { "accept-language": language } },
  );

  // One reading of the header per mistake would take minutes, longer than a test may.
  expect(answer).toMatchObject({ status: 400 });
  const { error } = answer.body as { error: { validationErrors: unknown[] } };
  expect(error.validationErrors).toHaveLength(1000);
});
