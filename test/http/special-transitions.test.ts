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
import { childOf, inside } from "../support/subflows.ts";

const app = await startRuntimeForFile({
  settings: { "Egress.Allow": ["loopback"], "Database.PoolSize": 8 },
  roles: ["api", "worker"],
});
auditAtEnd(app);
/** Answers when the test lets it. */
const held: ((status: number) => void)[] = [];
const server = await aWebServerForFile((_asked, _request, response) => {
  held.push((status) => {
    response.writeHead(status, { "content-type": "application/json" }).end('{"late":true}');
  });
});
const release = (status = 200) => {
  for (const answer of held.splice(0)) answer(status);
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

describe("an update of the data beside a run", () => {
  test("that faults is done after the retry, waited for or not", async () => {
    await app.publish(
      aWorkflow("edit")
        .state("open")
        .transition("go", { to: "done", onExecutionTasks: [call] })
        .state("done")
        .transition("again", {})
        .updateData("amend", { onExecutionTasks: [call] }),
    );
    const edits = instancesOf(app, "edit");
    const id = await edits.begin({});
    const going = edits.send(id, "go");
    await eventually(() => expect(held).toHaveLength(1));
    const [fails] = held.splice(0);
    const accepted = edits.send(id, "amend", { a: 1 }, { query: "sync=false" });
    const waitedFor = edits.send(id, "amend", { b: 2 });
    await eventually(() => expect(held).toHaveLength(2));

    fails!(503);
    expect(await going).toMatchObject({ status: 200, body: { status: "F" } });
    release();
    expect(await waitedFor).toMatchObject({ status: 202, body: { status: "F" } });
    expect(await accepted).toMatchObject({ status: 202 });
    const retried = app.post(`${edits.path}/${id}/retry?sync=true`);
    await eventually(() => expect(held).toHaveLength(1));
    release();

    expect(await retried).toMatchObject({ status: 200, body: { status: "A" } });
    await eventually(async () => {
      const records = await edits.history(id);
      expect(movesOf(records)).toEqual([
        "start: open-open",
        "go: open-done",
        expect.stringMatching(/^amend: open-/),
        expect.stringMatching(/^amend: open-/),
      ]);
      expect(records.every(({ finishedAt }) => finishedAt !== undefined)).toBe(true);
    });
    expect((await edits.read(id)).attributes).toEqual({ a: 1, b: 2, late: true });
  });

  test("that faults the instance itself ends the run, whose record is closed", async () => {
    await app.publish(
      aWorkflow("spoil")
        .state("open")
        .transition("go", { to: "done", onExecutionTasks: [call] })
        .state("done")
        .transition("again", {})
        .updateData("amend", {
          onExecutionTasks: [
            taskWith("script", output("if (!context.Instance.Data.fine) throw new Error('no');")),
          ],
        }),
    );
    const spoils = instancesOf(app, "spoil");
    const id = await spoils.begin({});
    const going = spoils.send(id, "go");
    await eventually(() => expect(held).toHaveLength(1));

    const answer = await spoils.send(id, "amend", { a: 1 });
    release();

    expect(answer).toMatchObject({ status: 200, body: { status: "F" } });
    expect(await going).toMatchObject({ status: 200, body: { status: "F" } });
    const [, go] = await spoils.history(id);
    expect(go).toMatchObject({ transitionKey: "go", effectiveState: null });
    expect(go).toHaveProperty("finishedAt");
    expect(go).not.toHaveProperty("toState");
    const retried = await app.post(`${spoils.path}/${id}/retry?sync=true`, {
      attributes: { fine: true },
    });
    expect(retried).toMatchObject({ status: 200, body: { status: "A" } });
    expect(await spoils.read(id)).toMatchObject({ metadata: { currentState: "open" } });
  });
});

test("the way out of a state that keeps its instance Busy is taken once, however many updates come", async () => {
  await app.publish(
    aWorkflow("gather")
      .state("open")
      .transition("wait", { to: "waiting" })
      .state("waiting", { subType: "busy" })
      .transition("full", {
        to: "done",
        rule: "context.Instance.Data.full == true",
        onExecutionTasks: [call],
      })
      .state("done")
      .transition("again", {})
      .updateData("amend"),
  );
  const gathers = instancesOf(app, "gather");
  const id = await gathers.begin({});
  await gathers.send(id, "wait");
  const going = gathers.send(id, "amend", { full: true });
  await eventually(() => expect(held).toHaveLength(1));

  const beside = await gathers.send(id, "amend", { more: 1 });
  const queued = await gathers.send(id, "amend", { most: 2 }, { query: "sync=false" });
  await eventually(async () =>
    expect((await gathers.read(id)).attributes).toEqual({ full: true, more: 1, most: 2 }),
  );
  release();

  expect(beside).toMatchObject({ status: 200, body: { status: "B" } });
  expect(queued).toMatchObject({ status: 202 });
  expect(await going).toMatchObject({ status: 200, body: { status: "A" } });
  expect(movesOf(await gathers.history(id))).toEqual([
    "start: open-open",
    "wait: open-waiting",
    "amend: waiting-waiting",
    "full: waiting-done",
    "amend: waiting-waiting",
    "amend: waiting-waiting",
  ]);
});

describe("a subflow that is opened while an update of the data is outside", async () => {
  await app.publish(
    aWorkflow("inner")
      .state("open")
      .transition("end", { to: "done" })
      .state("done", { type: "finish", subType: "success" }),
    aWorkflow("outer")
      .state("open")
      .transition("enter", { to: "inside" })
      .state("inside", inside("inner"))
      .transition("on", { to: "after", otherwise: true })
      .state("after")
      .transition("again", {})
      .updateData("amend", { onExecutionTasks: [call] }),
  );
  const outers = instancesOf(app, "outer");

  async function anAmendedOuter() {
    const id = await outers.begin({});
    const amending = outers.send(id, "amend", { a: 1 });
    await eventually(() => expect(held).toHaveLength(1));
    await outers.send(id, "enter");
    return { id, amending };
  }

  test("is not left by it", async () => {
    const { id, amending } = await anAmendedOuter();

    release();

    expect(await amending).toMatchObject({ status: 200, body: { status: "B" } });
    expect(await outers.read(id)).toMatchObject({
      metadata: { currentState: "inside", effectiveState: "open" },
      attributes: { a: 1, late: true },
    });
    expect(await outers.send(id, "end")).toMatchObject({ status: 200, body: { status: "A" } });
  });

  test("goes on when it fails; the end of the subflow closes what failed", async () => {
    const { id, amending } = await anAmendedOuter();
    release(503);
    expect(await amending).toMatchObject({ status: 200, body: { status: "F" } });

    await instancesOf(app, "inner").send(await childOf(app, id), "end");

    expect((await outers.read(id)).metadata).toMatchObject({ currentState: "after", status: "A" });
    const records = await outers.history(id);
    expect(movesOf(records)).toContain("amend: open-undefined");
    expect(records.every(({ finishedAt }) => finishedAt !== undefined)).toBe(true);
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
