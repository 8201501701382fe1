import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createProbe, timeSpan, type HealthCheck } from "../../src/http/health-check.ts";
import { addHealthRoutes } from "../../src/http/health-routes.ts";
import { createMetrics } from "../../src/metrics.ts";
import { aServer } from "../support/a-server.ts";

const self: HealthCheck = {
  name: "self",
  tags: ["live"],
  run: () => Promise.resolve({ healthy: true }),
};
const database = (run: HealthCheck["run"]): HealthCheck => ({
  name: "database",
  tags: ["ready"],
  run,
});
const broken = database(() => Promise.reject(new Error("no route to 10.0.0.5")));

function aHealthyServer(checks: HealthCheck[], domain?: string) {
  const server = aServer();
  const more = domain === undefined ? {} : { domain };
  addHealthRoutes(server.app, { version: "1.2.3", schemaVersion: "0.0.49", checks, ...more });
  return server;
}

test("/health says Healthy with every check, /live and /ready with theirs", async () => {
  const { app } = aHealthyServer(
    [self, database(() => Promise.resolve({ healthy: true }))],
    "core",
  );

  const health = await app.inject("/health");
  const live = await app.inject("/live");
  const ready = await app.inject("/ready");

  expect(health.statusCode).toBe(200);
  expect(health.body).toContain('"status":"Healthy"');
  expect(health.json()).toMatchObject({
    status: "Healthy",
    duration: expect.stringMatching(/^00:00:0\d\.\d{4}$/) as string,
    domain: "core",
    version: "1.2.3",
    info: [
      { key: "self", status: "Healthy", tags: ["live"], data: {} },
      { key: "database", status: "Healthy", tags: ["ready"], data: {} },
    ],
  });
  expect(live.json()).toMatchObject({ info: [{ key: "self" }] });
  expect(ready.json()).toMatchObject({ info: [{ key: "database" }] });
});

test("a check that fails makes /health and /ready 503 while /live stays 200", async () => {
  const { app } = aHealthyServer([self, broken]);

  const answers = await Promise.all(["/health", "/ready", "/live"].map((url) => app.inject(url)));

  expect(answers.map((answer) => answer.statusCode)).toEqual([503, 503, 200]);
  expect(answers[1]?.json()).toMatchObject({ status: "Unhealthy", info: [{ error: "Error" }] });
  expect(answers[1]?.body).not.toContain("10.0.0.5");
});

test("a check that says no may say why", async () => {
  const probe = createProbe([
    database(() => Promise.resolve({ healthy: false, description: "migrating" })),
  ]);

  expect(await probe()).toMatchObject({
    status: "Unhealthy",
    info: [{ status: "Unhealthy", description: "migrating" }],
  });
});

test("a check that hangs is unhealthy after its time and is not started again meanwhile", async () => {
  let runs = 0;
  const stuck = database(() => {
    runs += 1;
    return new Promise(() => {});
  });
  const probe = createProbe([stuck], 50);

  const [first, second] = await Promise.all([probe(), probe()]);
  await probe();

  expect(first).toMatchObject({ status: "Unhealthy", info: [{ error: "no answer within 50 ms" }] });
  expect(second).toMatchObject({ status: "Unhealthy" });
  expect(runs).toBe(1);
});

test("probes at the same time share one run; later ones run again", async () => {
  let runs = 0;
  const probe = createProbe([
    database(async () => {
      runs += 1;
      await delay(10);
      return { healthy: true };
    }),
  ]);

  await Promise.all([probe(), probe("ready"), probe()]);
  await probe();

  expect(runs).toBe(2);
});

test("/version reports the service and the component schema level", async () => {
  const { app } = aHealthyServer([]);

  const answer = await app.inject("/version");

  expect(answer.json()).toEqual({ version: "1.2.3", schemaVersion: "0.0.49", service: "millrace" });
});

test("probes leave no line in the log, other requests leave one with their route", async () => {
  const { app, logged } = aHealthyServer([self]);

  await app.inject("/health");
  await app.inject("/api/v1/core/things/x?secret=1");
  await app.inject("/nowhere");

  const lines = logged.filter((line) => line["msg"] === "RequestAnswered");
  expect(lines).toMatchObject([
    {
      level: "info",
      method: "GET",
      route: "/api/v1/:domain/things/:thing",
      status: 200,
      domain: "core",
    },
    { route: "(none)", status: 404 },
  ]);
  expect(JSON.stringify(lines)).not.toContain("secret");
});

test("/metrics has figures by route pattern, never by address", async () => {
  const metrics = createMetrics();
  const { app } = aServer({ metrics });
  addHealthRoutes(app, { version: "1", schemaVersion: "1", checks: [], metrics });

  for (const key of ["a", "b", "c"]) await app.inject(`/api/v1/core/things/${key}`);
  await app.inject("/nowhere/at/all");
  const answer = await app.inject("/metrics");
  await metrics.close();

  expect(answer.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(answer.body).toMatch(
    /http_server_request_duration_seconds_count\{method="GET",route="\/api\/v1\/:domain\/things\/:thing",status="2xx"\} 3/,
  );
  expect(answer.body).toContain('route="(none)",status="4xx"} 1');
  expect(answer.body).not.toContain("/nowhere");
  // The scrape itself is the one request in progress.
  expect(answer.body).toMatch(/http_server_active_requests\S* 1\n/);
  for (const name of [
    "process_memory_bytes",
    "process_uptime_seconds",
    "nodejs_eventloop_delay_seconds",
  ]) {
    expect(answer.body).toContain(name);
  }
});

test("durations have the form hours:minutes:seconds with four decimals", () => {
  expect(timeSpan(1.2)).toBe("00:00:00.0012");
  expect(timeSpan(3_723_004.5)).toBe("01:02:03.0045");
});
