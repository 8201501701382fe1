import { expect, test } from "vitest";
import { aScriptTask, output, slot, taskWith } from "../support/a-script-slot.ts";
import { aWorkflow } from "../support/a-workflow.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({ roles: ["api", "worker"] });
const process = { key: "part", domain: "core", flow: "sys-flows", version: "1.0.0" };
const mapping = slot(`
  export function InputHandler(context) { return { Data: { from: "parent" } }; }
  export function OutputHandler(context) { return { Data: {} }; }
`);
const look = (body: string) => [taskWith("look", output(body))];

await app.publish(
  aScriptTask("look"),
  aWorkflow("part")
    .state("open", {
      onEntries: look(`
        return context.Related.ParentAsync().then((parent) => ({ Data: {
          hasParent: context.Related.HasParent, type: context.Instance.Type,
          parent: [parent.Flow, parent.CurrentState, parent.Data.total, parent.SubFlowType],
        } }));`),
    })
    .transition("end", { to: "done" })
    .state("done", { type: "finish", subType: "success" }),
  aWorkflow("whole")
    .state("open")
    .transition("begin", { to: "parts" })
    .state("parts", { type: "subFlow", subFlow: { type: "S", process, mapping } })
    .transition("on", { to: "after", otherwise: true })
    .state("after", {
      onEntries: look(`
        return Promise.all([context.Related.SubAsync("part"), context.Related.SubKeysAsync()])
          .then(([part, keys]) => ({ Data: {
            hasParent: context.Related.HasParent, keys,
            part: [part.Status, part.CurrentState, part.TerminalOutcome, part.SubFlowType, part.Data.from],
          } }));`),
    })
    .shared("peek", {
      onExecutionTasks: look(
        "return { Data: { open: context.Instance.HasActiveSubFlow, of: context.Instance.ActiveCorrelations[0].SubFlowName } };",
      ),
    }),
);
const wholes = instancesOf(app, "whole");

test("a script sees the parent of its instance, and its children", async () => {
  const id = await wholes.begin({ total: 12 });
  await wholes.send(id, "begin");
  await wholes.send(id, "peek");
  const before = await wholes.read(id);
  const { items } = (await app.get("/api/v1/core/workflows/part/instances")).body as {
    items: { attributes: unknown }[];
  };

  await wholes.send(id, "end");

  expect(items[0]?.attributes).toEqual({
    from: "parent",
    hasParent: true,
    type: "S",
    parent: ["whole", "parts", 12, null],
  });
  expect(before.attributes).toEqual({ total: 12, open: true, of: "part" });
  expect((await wholes.read(id)).attributes).toMatchObject({
    hasParent: false,
    keys: ["part"],
    part: ["C", "done", "Completed", "S", "parent"],
  });
});

test("a script sees the open incident of its instance", async () => {
  await app.publish(
    aWorkflow("fragile")
      .state("open")
      .transition("break", {
        to: "open",
        onExecutionTasks: [
          {
            ...taskWith("look", output("throw new Error('the reason');")),
            errorBoundary: { onError: [{ action: "rollback", transition: "mend" }] },
          },
        ],
      })
      .transition("mend", {
        to: "mended",
        onExecutionTasks: look(
          "const { HasActiveIncident, ActiveIncident } = context.Incident; return { Data: { HasActiveIncident, code: ActiveIncident?.errorCode ?? null } };",
        ),
      })
      .state("mended"),
  );
  const flow = instancesOf(app, "fragile");
  const id = await flow.begin();

  await flow.send(id, "break");

  expect(await flow.read(id)).toMatchObject({
    attributes: { HasActiveIncident: true, code: "Task:400008" },
    metadata: { currentState: "mended", status: "A", incident: { hasActiveIncident: false } },
  });
});
