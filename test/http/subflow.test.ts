import { describe, expect, test } from "vitest";
import { aScriptTask, output, slot, taskWith } from "../support/a-script-slot.ts";
import { aWorkflow } from "../support/a-workflow.ts";
import { codeOf, instancesOf, movesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({ roles: ["api", "worker"] });

const process = (key: string, domain = "core") => ({
  key,
  domain,
  flow: "sys-flows",
  version: "1.0.0",
});

const mapping = slot(`
  export function InputHandler(context) { return { Data: { asked: context.Instance.Data.amount } }; }
  export function OutputHandler(context) { return { Data: { checked: context.Body } }; }
`);

await app.publish(
  aScriptTask("work"),
  aWorkflow("check")
    .state("waiting", { subType: "human" })
    .transition("approve", { to: "approved" })
    .transition("break", {
      to: "approved",
      onExecutionTasks: [
        taskWith(
          "work",
          output("if (!context.Instance.Data.fixed) throw new Error('broken'); return {};"),
        ),
      ],
    })
    .state("approved", { type: "finish", subType: "success" })
    .state("withdrawn", { type: "finish", subType: "cancelled" })
    .cancel("withdraw", { to: "withdrawn" })
    .updateData("amend"),
  aWorkflow("order")
    .state("open")
    .transition("check", { to: "checking" })
    .state("checking", {
      type: "subFlow",
      subFlow: { type: "S", process: process("check"), mapping },
    })
    .transition("after", { to: "done", rule: "context.Instance.Data.checked != null" })
    .state("done", { type: "finish", subType: "success" })
    .state("gone", { type: "finish", subType: "cancelled" })
    .cancel("drop", { to: "gone" })
    .shared("note", {})
    .shared("jump", { to: "done" })
    .updateData("amend"),
);
const orders = instancesOf(app, "order");
const checks = instancesOf(app, "check");

const childOf = async (id: string) => {
  const answer = await checks.list(
    "filter=" + encodeURIComponent(JSON.stringify({ attributes: {} })),
  );
  const items = (answer.body as { items: { id: string; tags: string[] }[] }).items;
  expect(items.length).toBeGreaterThan(0);
  void id;
  return items[0]!.id;
};

describe("a state that opens a subflow", () => {
  test("starts the child with what the mapping says, and shows its state", async () => {
    const id = await orders.begin({ amount: 7 });

    const answer = await orders.send(id, "check");

    expect(answer).toMatchObject({ status: 200, body: { id, status: "B" } });
    expect(await orders.read(id)).toMatchObject({
      metadata: {
        status: "B",
        currentState: "checking",
        effectiveState: "waiting",
        effectiveStateSubType: "human",
      },
    });
    expect(await checks.read(await childOf(id))).toMatchObject({
      attributes: { asked: 7 },
      metadata: { status: "A", currentState: "waiting" },
    });
  });

  test("a transition of the child is sent through the parent, which goes on when the child is through", async () => {
    const id = await orders.begin({ amount: 7 });
    await orders.send(id, "check");

    const answer = await orders.send(id, "approve", { by: "me" });

    expect(answer).toMatchObject({
      status: 200,
      body: { id, status: "C", attributes: { amount: 7, checked: { asked: 7, by: "me" } } },
    });
    expect(movesOf(await orders.history(id))).toEqual([
      "start: open-open",
      "check: open-checking",
      "after: checking-done",
    ]);
  });

  test("keeps what is the parent's own", async () => {
    const id = await orders.begin({ amount: 7 });
    await orders.send(id, "check");

    expect((await orders.send(id, "note", { a: 1 })).body).toMatchObject({ id, status: "B" });
    expect((await orders.send(id, "amend", { b: 1 })).body).toMatchObject({ id, status: "B" });
    expect(codeOf(await orders.send(id, "jump"))).toBe("400 validation.Transition:100023");
    expect(await orders.read(id)).toMatchObject({
      attributes: { amount: 7, a: 1, b: 1 },
      metadata: { effectiveState: "waiting", status: "B" },
    });
  });

  test("cancels the child when the parent is cancelled", async () => {
    const id = await orders.begin({ amount: 7 });
    await orders.send(id, "check");
    const child = await childOf(id);

    expect((await orders.send(id, "drop")).body).toMatchObject({ status: "C" });

    expect(await checks.read(child)).toMatchObject({
      metadata: { status: "C", currentState: "withdrawn" },
    });
  });

  test("faults with its child, and goes on when the child is retried", async () => {
    const id = await orders.begin({ amount: 7 });
    await orders.send(id, "check");
    const child = await childOf(id);

    const broken = await orders.send(id, "break");

    expect(broken).toMatchObject({ status: 200, body: { id, status: "F" } });
    expect(await checks.read(child)).toMatchObject({ metadata: { status: "F" } });
    const again = await app.post(`${orders.path}/${id}/retry?sync=true`, {});
    expect(again).toMatchObject({ status: 200, body: { status: "F" } });

    const fixed = await app.post(`${orders.path}/${id}/retry?sync=true`, {
      attributes: { fixed: true },
    });

    expect(fixed).toMatchObject({ status: 200, body: { status: "C" } });
    expect(await orders.read(id)).toMatchObject({
      metadata: { status: "C", incident: { hasActiveIncident: false } },
    });
    const incidents = await app.get(`${orders.path}/${id}/incidents`);
    expect(incidents.body).toMatchObject({
      hasActiveIncident: false,
      items: [
        { isResolved: true, retryCount: 1 },
        { isResolved: true, retryCount: 1 },
      ],
    });
  });
});
