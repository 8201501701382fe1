import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { aWorkflow } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import { createLog } from "../../src/log.ts";
import { startRuntime } from "../support/start-runtime.ts";

test("a subflow whose correlation is gone faults its parent, and the log says so by number", async () => {
  const lines: string[] = [];
  const log = createLog({
    level: "error",
    destination: { write: (line) => void lines.push(line) },
  });
  const app = await startRuntime({ log });
  const process = { key: "part", domain: "core", flow: "sys-flows", version: "1.0.0" };
  await app.publish(
    aWorkflow("part")
      .state("open")
      .transition("end", { to: "done" })
      .state("done", { type: "finish", subType: "success" }),
    aWorkflow("whole")
      .state("open")
      .transition("begin", { to: "parts" })
      .state("parts", { type: "subFlow", subFlow: { type: "S", process, mapping: { type: "G" } } }),
  );
  const wholes = instancesOf(app, "whole");
  const id = await wholes.begin();
  await wholes.send(id, "begin");
  const database = new Client({ connectionString: app.databaseUrl });
  await database.connect();
  onTestFinished(() => database.end());
  await database.query("delete from correlation");

  const answer = await wholes.send(id, "end");

  expect(answer).toMatchObject({ status: 200, body: { id, status: "F" } });
  const active = await app.get(`${wholes.path}/${id}/incidents/active`);
  expect(active.body).toMatchObject({ errorCode: "Instance:100012" });
  const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(events).toContainEqual(
    expect.objectContaining({
      eventId: 40_119,
      eventName: "SubFlowCorrelationRevertTargetMissing",
    }),
  );
});
