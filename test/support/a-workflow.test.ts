import { expect, test } from "vitest";
import { aSchema, aWorkflow, hook } from "./a-workflow.ts";
import { publishPath, startRuntime } from "./start-runtime.ts";

test("what the builder makes is published without a warning", async () => {
  const app = await startRuntime();
  const workflow = aWorkflow("loan")
    .in("lending")
    .version("2.1.0")
    .tags("retail")
    .start("apply", { schema: "request" })
    .state("draft", { subType: "human" })
    .transition("submit", { to: "scoring", annotations: { "ui/priority": "1" } })
    .transition("remind", { timer: "PT1H", onExecutionTasks: hook("note") })
    .state("scoring")
    .transition("small", { to: "done", rule: "context.Instance.Data.amount <= 1000" })
    .transition("else", { to: "draft", otherwise: true })
    .state("done", { type: "finish", subType: "success" })
    .state("gone", { type: "finish", subType: "cancelled" })
    .shared("note", { availableIn: ["draft"] })
    .cancel("withdraw", { to: "gone" })
    .exit("leave", { to: "gone" })
    .updateData("update")
    .timeout("too-late", { to: "gone", after: "P30D" })
    .schema("request")
    .with({ features: [] });

  const schema = await app.post(
    publishPath,
    aSchema("request", { type: "object" }, { domain: "lending" }),
  );
  const answer = await app.post(publishPath, workflow);

  expect(schema).toMatchObject({ status: 200, body: { warnings: [] } });
  expect(answer.body).toEqual({
    key: "loan",
    flow: "sys-flows",
    domain: "lending",
    version: "2.1.0",
    warnings: [],
  });
});

test("a builder can be taken two ways", () => {
  const one = aWorkflow("loan").state("draft");

  const two = one.transition("submit");

  expect(one.build().attributes["states"]).toMatchObject([{ transitions: [] }]);
  expect(two.build().attributes["states"]).toMatchObject([{ transitions: [{ key: "submit" }] }]);
});
