/** Cancel, exit, updateData and the timeout beside whatever else an instance does. */
import { describe, expect, test } from "vitest";
import { rowsOf } from "../crash/promises.ts";
import { aScriptTask, output, taskWith } from "../support/a-script-slot.ts";
import { auditAtEnd } from "../support/audited.ts";
import { aWebServerForFile } from "../support/a-web-server.ts";
import { aComponent, aWorkflow } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, instancesOf, movesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile({
  settings: { "Egress.Allow": ["loopback"], "Database.PoolSize": 8 },
  roles: ["api", "worker"],
});
auditAtEnd(app);
/** Answers when the test lets it. */
const held: (() => void)[] = [];
const server = await aWebServerForFile((_asked, _request, response) => {
  held.push(() => response.setHeader("content-type", "application/json").end('{"late":true}'));
});
const release = () => {
  for (const answer of held.splice(0)) answer();
};

const call = taskWith("hold", { type: "G" });

await app.publish(
  aComponent("sys-tasks", "hold", { type: "6", config: { url: server.url } }),
  aScriptTask("script"),
  aWorkflow("order")
    .state("open")
    .transition("go", { to: "done", onExecutionTasks: [call] })
    .state("done")
    .transition("again", {})
    .state("gone", { type: "finish", subType: "cancelled" })
    .state("left", { type: "finish", subType: "terminated" })
    .state("late")
    .transition("on", { to: "done" })
    .cancel("drop", { to: "gone" })
    .exit("leave", { to: "left" })
    .updateData("amend", {
      onExecutionTasks: [
        taskWith("script", output("return { Data: { seen: context.Body.tag ?? 'none' } };")),
      ],
    })
    .timeout("too-late", { to: "late", after: "P1D" }),
);
const orders = instancesOf(app, "order");

/** Under way: its task has been called and waits for the answer. */
async function aBusyOrder() {
  const id = await orders.begin({ a: 1 });
  const called = server.asked.length;
  const going = orders.send(id, "go");
  await eventually(() => expect(server.asked.length).toBe(called + 1));
  return { id, going };
}

describe("while a task is running", () => {
  test.for([
    ["drop", "gone"],
    ["cancel", "gone"],
    ["CANCEL", "gone"],
    ["leave", "left"],
    ["exit", "left"],
  ])("%s ends the instance, and the late result changes nothing", async ([transition, state]) => {
    const { id, going } = await aBusyOrder();

    const answer = await orders.send(id, transition!);
    release();

    expect(answer).toMatchObject({ status: 200, body: { id, status: "C" } });
    expect(await going).toMatchObject({ status: 200, body: { id, status: "C" } });
    expect(await orders.read(id)).toMatchObject({
      attributes: { a: 1 },
      metadata: { status: "C", currentState: state },
    });
    expect((await orders.read(id)).attributes).not.toHaveProperty("late");
  });

  test("the timeout ends the run and leads to its state", async () => {
    const { id, going } = await aBusyOrder();

    await rowsOf(
      app.databaseUrl,
      "update job set ready_at = now() where instance_id = $1 and kind = 'to'",
      [id],
    );

    await eventually(async () =>
      expect(await orders.read(id)).toMatchObject({
        metadata: { status: "A", currentState: "late" },
      }),
    );
    release();
    await going;
    expect(movesOf(await orders.history(id))).toEqual([
      "start: open-open",
      "go: open-undefined",
      "too-late: open-late",
    ]);
  });

  test.for(["amend", "update-parent-data"])("%s is done beside it", async (transition) => {
    const { id, going } = await aBusyOrder();

    const answer = await orders.send(id, transition, { attributes: { b: 2, tag: "x" } });
    release();

    expect(answer).toMatchObject({ status: 200, body: { id, status: "B" } });
    expect(await going).toMatchObject({ body: { id, status: "A" } });
    expect((await orders.read(id)).attributes).toEqual({
      a: 1,
      b: 2,
      tag: "x",
      seen: "x",
      late: true,
    });
  });

  test("an ordinary transition is refused", async () => {
    const { id, going } = await aBusyOrder();

    expect(codeOf(await orders.send(id, "go"))).toBe("409 conflict.Instance:100031");

    release();
    await going;
  });
});

test("200 updates of the data at once, some waited for and some accepted: no field is lost", async () => {
  const id = await orders.begin({});

  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      orders.send(
        id,
        i % 2 === 0 ? "amend" : "Update-Parent-Data",
        { attributes: { [`n${i}`]: i } },
        { query: i % 3 === 0 ? "sync=false" : "sync=true" },
      ),
    ),
  );

  expect(answers.filter(({ status }) => status !== 200 && status !== 202)).toEqual([]);
  await eventually(async () => {
    const { attributes = {} } = await orders.read(id);
    const missing = Array.from({ length: 200 }, (_, i) => `n${i}`).filter(
      (it) => !(it in attributes),
    );
    expect(missing).toEqual([]);
  });
  expect(await orders.history(id)).toHaveLength(201);
});

test.for([
  ["$timeout", "403 validation.Transition:100010"],
  ["too-late", "404 notfound.Transition:100004"],
])("the timeout is the system's: %s is refused", async ([key, code]) => {
  const id = await orders.begin({});

  expect(codeOf(await orders.send(id, key!))).toBe(code);
  expect(await orders.read(id)).toMatchObject({ metadata: { currentState: "open" } });
});
