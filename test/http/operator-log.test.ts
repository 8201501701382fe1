/** What those who run the service find in its log and its figures. */
import { expect, test } from "vitest";
import { createLog } from "../../src/log.ts";
import { aComponent, aWorkflow, hook } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const logged: Record<string, unknown>[] = [];
const log = createLog({
  level: "info",
  destination: { write: (line) => logged.push(JSON.parse(line) as Record<string, unknown>) },
});
const app = await startRuntimeForFile({ log, roles: ["api", "worker"] });
const events = (msg: string) => logged.filter((line) => line["msg"] === msg);

await app.publish(
  aComponent("sys-tasks", "unreachable", {
    type: "6",
    config: { url: "http://127.0.0.1:1/", method: "GET" },
  }),
);

test("a node says its version, its id and its roles when it has started", () => {
  expect(events("Started")).toMatchObject([
    {
      level: "info",
      version: expect.stringMatching(/^\d/) as string,
      node: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      roles: ["api", "worker"],
      runtimeUrl: app.url,
    },
  ]);
});

test("an instance that faults is told with its place, its code and the reason", async () => {
  await app.publish(
    aWorkflow("loan")
      .state("open")
      .transition("score", { onExecutionTasks: hook("unreachable") }),
  );
  const loans = instancesOf(app, "loan");
  const id = await loans.begin();

  const { body } = await loans.send(id, "score");

  expect(body).toMatchObject({ status: "F" });
  expect(events("IncidentOpened")).toMatchObject([
    {
      level: "warn",
      instance: id,
      domain: "core",
      workflow: "loan",
      state: "open",
      transition: "score",
      task: "unreachable",
      code: "Task:Http:AddressRefused",
      reason: expect.stringContaining("127.0.0.1") as string,
    },
  ]);
});

test("a start that faults is told as well", async () => {
  await app.publish(
    aWorkflow("scoring")
      .start("start", { onExecutionTasks: hook("unreachable") })
      .state("open"),
  );
  const before = events("IncidentOpened").length;

  const answer = await app.post("/api/v1/core/workflows/scoring/instances/start?sync=true", {});

  expect(answer.body).toMatchObject({ status: "F" });
  expect(events("IncidentOpened").slice(before)).toMatchObject([
    { workflow: "scoring", transition: "start", task: "unreachable" },
  ]);
});

test("the figures have the work of the node, its incidents and its connections", async () => {
  const { text } = await app.get("/metrics");

  expect(text).toMatch(/^millrace_jobs_running 0$/m);
  expect(text).toMatch(/^# TYPE millrace_incidents_opened_total counter$/m);
  expect(text).toMatch(
    new RegExp(`^millrace_incidents_opened_total ${events("IncidentOpened").length}$`, "m"),
  );
  for (const state of ["used", "idle", "waiting"]) {
    expect(text).toMatch(new RegExp(`^millrace_database_connections{state="${state}"} \\d+$`, "m"));
  }
});
