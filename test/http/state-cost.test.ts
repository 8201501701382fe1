/** What a poll costs the database: statements, which do not depend on the machine. */
import { afterAll, expect, test } from "vitest";
import { aFunction, anExtension, functionTask } from "../support/a-function.ts";
import { slot } from "../support/a-script-slot.ts";
import { aWorkflow } from "../support/a-workflow.ts";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startPostgresProxy } from "../support/postgres-proxy.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const database = await createDatabase();
const proxy = await startPostgresProxy(database.url);
afterAll(async () => {
  await proxy.close();
  await database.drop();
});
const app = await startRuntimeForFile({ databaseUrl: proxy.url });

const previous = [{ role: "$PreviousUser", grant: "allow" }];
const mapping = slot(
  "export function InputHandler() { return { Data: {} }; } export function OutputHandler() { return {}; }",
);
const process = { key: "inner", domain: "core", flow: "sys-flows", version: "1.0.0" };
await app.publish(
  functionTask,
  aFunction("any", "return {};"),
  anExtension("asked", 2, "return { Data: 1 };"),
  aWorkflow("plain").state("here").transition("a").transition("b"),
  aWorkflow("guarded")
    .state("here")
    .transition("a", { roles: previous })
    .transition("b", { roles: previous })
    .transition("c", { roles: previous }),
  aWorkflow("timed").state("here").transition("later", { timer: "PT1H" }).transition("a"),
  aWorkflow("inner")
    .state("waits")
    .transition("end", { to: "over" })
    .state("over", { type: "finish" }),
  aWorkflow("outer")
    .state("inside", { type: "initial", subFlow: { type: "S", process, mapping } })
    .transition("next", { to: "over", rule: "true" })
    .state("over", { type: "finish" }),
);

// A node that has just come asks once whether anybody waits for changes.
await eventually(() => expect(proxy.counts.get("announce-changes")).toBe(1));

const background =
  /^(claim-jobs|next-due|beat-node|sweep-nodes|release-jobs|catalogue-revision|component-changes|sweep-state-entries)$/;

async function costOf(workflow: string, functionName: string) {
  const flows = instancesOf(app, workflow);
  const id = await flows.begin({});
  const path = `${flows.path}/${id}/functions/${functionName}`;
  // The first read may load definitions.
  expect((await app.get(path)).status).toBe(200);
  proxy.counts.clear();

  for (let i = 0; i < 5; i += 1) await app.get(path);

  return Object.fromEntries([...proxy.counts].filter(([name]) => !background.test(name)));
}

test.each([
  ["plain", "state", { "find-instance": 5 }],
  ["guarded", "state", { "find-instance": 5, "last-manual-author": 5 }],
  ["timed", "state", { "find-instance": 5, "list-timers": 5 }],
  ["outer", "state", { "find-instance": 10, "list-correlations": 5 }],
  ["plain", "data", { "find-instance": 5 }],
  ["plain", "catalog", { "find-instance": 5 }],
  ["outer", "hierarchy", { "find-instance": 10, "list-descendants": 5 }],
])("five reads of an instance of '%s' by '%s' are %j", async (workflow, name, statements) => {
  expect(await costOf(workflow, name)).toEqual(statements);
});
