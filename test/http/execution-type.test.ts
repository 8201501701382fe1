import { expect, test } from "vitest";
import { aWorkflow } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({ roles: ["api", "worker"] });
await app.publish(
  aWorkflow("waits")
    .with({ executionType: "S" })
    .state("open")
    .transition("go", { to: "done" })
    .transition("later", { to: "done", executionType: "A" })
    .state("done"),
  aWorkflow("queues").with({ executionType: "A" }).state("open").transition("go", { to: "open" }),
);

test.each([
  ["waits", "sync=false", 200],
  ["waits", "sync=true", 200],
  ["queues", "sync=true", 202],
])("a start of '%s' with %s is answered as its definition says", async (flow, query, status) => {
  expect(await instancesOf(app, flow).start({}, { query })).toMatchObject({ status });
});

test("the word of the transition counts before that of its workflow", async () => {
  const flow = instancesOf(app, "waits");
  const [one, other] = [await flow.begin(), await flow.begin()];

  expect(await flow.send(one, "go", {}, { query: "sync=false" })).toMatchObject({
    status: 200,
    body: { status: "A" },
  });
  expect(await flow.send(other, "later", {}, { query: "sync=true" })).toMatchObject({
    status: 202,
    body: { status: "B" },
  });
});
