import { Client } from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { aSchema, aWorkflow, hook } from "../support/a-workflow.ts";
import { aDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { gatedTask, gatedTasks } from "../support/gated-tasks.ts";
import { codeOf, idOf, instancesOf, movesOf } from "../support/instances-of.ts";
import { startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";

const tasks = gatedTasks();
const app = await startRuntimeForFile({ tasks, roles: ["api", "worker"] });
const database = new Client({ connectionString: app.databaseUrl });
await database.connect();
afterAll(() => database.end());

await app.publish(
  gatedTask("call"),
  gatedTask("check"),
  aSchema("paid", { type: "object", required: ["amount"] }),
  aWorkflow("order")
    .state("open")
    .transition("pay", { to: "paid", schema: "paid" })
    .transition("slow", { to: "paid", onExecutionTasks: hook("call") })
    .transition("missing", { to: "paid", onExecutionTasks: hook("nobody-knows-it") })
    .transition("note", {})
    .state("paid")
    .transition("ship", { to: "shipped" })
    .state("shipped", { type: "finish", subType: "success" })
    .state("gone", { type: "finish", subType: "cancelled" })
    .cancel("withdraw", { to: "gone" })
    .updateData("amend"),
);
const orders = instancesOf(app, "order");
const queued = { query: "sync=false" };

const settled = (id: string) =>
  eventually(async () => {
    const instance = await orders.read(id);
    expect(instance.metadata.status).not.toBe("B");
    return instance;
  });

describe("a transition that is accepted", () => {
  test("is done soon after, and its job is gone", async () => {
    const id = await orders.begin();

    const answer = await orders.send(id, "pay", { amount: 1 }, queued);

    expect(answer).toMatchObject({ status: 202, body: { id, status: "B" } });
    expect(await settled(id)).toMatchObject({
      metadata: { status: "A", currentState: "paid" },
      attributes: { amount: 1 },
    });
    const { rows } = await database.query("select 1 from job where instance_id = $1", [id]);
    expect(rows).toEqual([]);
  });

  test("holds the instance Busy until it is done: others get 409", async () => {
    const id = await orders.begin();
    await orders.send(id, "slow", { a: 1 }, queued);
    await tasks.waiting("call");

    const reading = await orders.read(id);
    const same = await orders.send(id, "slow", {}, queued);
    const other = await orders.send(id, "note");
    tasks.open("call", { called: true });

    expect(reading.metadata).toMatchObject({ status: "B", currentState: "open" });
    expect(reading.attributes).toEqual({ a: 1 });
    expect([codeOf(same), codeOf(other)]).toEqual([
      "409 conflict.Instance:100031",
      "409 conflict.Instance:100031",
    ]);
    expect(await settled(id)).toMatchObject({
      metadata: { status: "A", currentState: "paid" },
      attributes: { a: 1, called: true },
    });
    expect(movesOf(await orders.history(id))).toEqual(["start: open-open", "slow: open-paid"]);
  });

  test("has a job with the specification's name while it is under way", async () => {
    const id = await orders.begin();
    await orders.send(id, "slow", {}, queued);
    await tasks.waiting("call");

    const { rows } = await database.query<{ name: string }>(
      "select name from job where instance_id = $1",
      [id],
    );
    tasks.open("call");

    expect(rows).toEqual([{ name: `service.job.v1.tx.${id.replaceAll("-", "")}.open.slow` }]);
    await settled(id);
  });

  test("has an open record while it is under way, closed at its end", async () => {
    const id = await orders.begin();
    await orders.send(id, "slow", { stage: "S", attributes: {} }, queued);
    await tasks.waiting("call");

    const open = (await orders.history(id))[1];
    tasks.open("call");
    await settled(id);
    const closed = (await orders.history(id))[1];

    expect(open).toMatchObject({ transitionKey: "slow", effectiveState: null, stage: null });
    expect(open).not.toHaveProperty("finishedAt");
    expect(closed).toMatchObject({ id: open?.id, toState: "paid", stage: "S" });
    expect(closed).toHaveProperty("finishedAt");
  });

  test("shows its fault on the instance", async () => {
    const id = await orders.begin();

    expect((await orders.send(id, "missing", {}, queued)).status).toBe(202);

    const { metadata } = await settled(id);
    expect(metadata).toMatchObject({
      status: "F",
      currentState: "open",
      incident: { hasActiveIncident: true, totalCount: 1 },
    });
    expect((await orders.history(id))[1]).toMatchObject({
      transitionKey: "missing",
      effectiveState: null,
    });
    expect(codeOf(await orders.send(id, "note"))).toBe("400 validation.Instance:100018");
  });

  test("shows the fault of a task with its code", async () => {
    const id = await orders.begin();
    await orders.send(id, "slow", {}, queued);
    await tasks.waiting("call");

    tasks.fail("call");

    expect((await settled(id)).metadata.status).toBe("F");
    const { rows } = await database.query(
      `select error_code, error_layer, task, state, transition, number from incident
       where instance_id = $1`,
      [id],
    );
    expect(rows).toEqual([
      {
        error_code: "Task:Unknown:call",
        error_layer: "Task",
        task: "call",
        state: "open",
        transition: "slow",
        number: 1,
      },
    ]);
  });
});

describe("refused before it is accepted is", () => {
  test.each([
    ["a payload the schema rejects", "pay", { a: 1 }, "400"],
    ["a transition of another state", "ship", {}, "400 validation.Transition:100020"],
    ["one nobody knows", "nothing", {}, "404 notfound.Transition:100004"],
  ])("%s, and nothing happens", async (_, key, body, code) => {
    const id = await orders.begin();

    expect(codeOf(await orders.send(id, key, body, queued))).toBe(code);

    expect((await orders.read(id)).metadata.status).toBe("A");
    expect(await orders.history(id)).toHaveLength(1);
  });
});

describe("while a transition is under way", () => {
  test("updateData goes through, and the transition keeps its data and its own", async () => {
    const id = await orders.begin();
    await orders.send(id, "slow", { a: 1 }, queued);
    await tasks.waiting("call");

    const amended = await orders.send(id, "amend", { attributes: { b: 2 } });
    tasks.open("call", { c: 3 });

    expect(amended).toMatchObject({
      status: 200,
      body: { status: "B", attributes: { a: 1, b: 2 } },
    });
    expect(await settled(id)).toMatchObject({
      metadata: { status: "A", currentState: "paid" },
      attributes: { a: 1, b: 2, c: 3 },
    });
    expect(tasks.begun.filter(({ key }) => key === "call").length).toBe(
      new Set(tasks.begun.map(({ executionKey }) => executionKey)).size,
    );
  });

  test.each(["sync=true", "sync=false"])("cancel ends the instance (%s)", async (query) => {
    const id = await orders.begin();
    await orders.send(id, "slow", {}, queued);
    await tasks.waiting("call");

    const answer = await orders.send(id, "cancel", {}, { query });

    expect(answer.status).toBe(query === "sync=true" ? 200 : 202);
    await eventually(async () => {
      expect((await orders.read(id)).metadata).toMatchObject({
        status: "C",
        currentState: "gone",
      });
    });
    tasks.open("call", { late: true });
    await eventually(async () => {
      const { rows } = await database.query("select 1 from job where instance_id = $1", [id]);
      expect(rows).toEqual([]);
    });
    // What came too late changed nothing.
    expect((await orders.read(id)).attributes).toEqual({});
  });
});

describe("a synchronous transition with a task that reaches outside", () => {
  test("answers when the task has ended; meanwhile the instance is Busy", async () => {
    const id = await orders.begin();
    const answering = orders.send(id, "slow", { a: 1 });
    await tasks.waiting("call");

    const busy = await orders.read(id);
    const other = await orders.send(id, "note");
    tasks.open("call", { b: 2 });

    expect(busy.metadata.status).toBe("B");
    expect(codeOf(other)).toBe("409 conflict.Instance:100031");
    expect(await answering).toMatchObject({
      status: 200,
      body: { status: "A", attributes: { a: 1, b: 2 } },
    });
  });

  test("that fails answers 200 with status F", async () => {
    const id = await orders.begin();
    const answering = orders.send(id, "slow");
    await tasks.waiting("call");

    tasks.fail("call");

    expect(await answering).toMatchObject({ status: 200, body: { status: "F" } });
  });

  test("beside which updateData runs does its task once", async () => {
    const id = await orders.begin();
    const before = tasks.begun.length;
    const answering = orders.send(id, "slow", { a: 1 });
    await tasks.waiting("call");

    const amended = await orders.send(id, "amend", { attributes: { b: 2 } });
    tasks.open("call", { c: 3 });

    expect(amended.status).toBe(200);
    expect(await answering).toMatchObject({
      status: 200,
      body: { attributes: { a: 1, b: 2, c: 3 } },
    });
    expect(tasks.begun.length).toBe(before + 1);
    expect(await orders.history(id)).toHaveLength(3);
  });
});

test("200 transitions of 200 instances are all done", async () => {
  const ids = await Promise.all(Array.from({ length: 200 }, () => orders.begin()));

  const answers = await Promise.all(
    ids.map((id, i) => orders.send(id, "pay", { amount: i }, queued)),
  );

  expect(new Set(answers.map((a) => a.status))).toEqual(new Set([202]));
  for (const [i, id] of ids.entries()) {
    expect(await settled(id)).toMatchObject({
      metadata: { currentState: "paid" },
      attributes: { amount: i },
    });
  }
});

test("a node without a worker runs what it accepts", async () => {
  const api = await startRuntime({ roles: ["api"] });
  await api.publish(
    aWorkflow("small").state("open").transition("go", { to: "done" }).state("done"),
  );
  const small = instancesOf(api, "small");

  const id = idOf(await small.start({ key: "S-1" }, queued));
  await eventually(async () => {
    expect((await small.read(id)).metadata.status).toBe("A");
  });
  await small.send(id, "go", {}, queued);

  await eventually(async () => {
    expect((await small.read(id)).metadata).toMatchObject({ status: "A", currentState: "done" });
  });
});

test("what a node has accepted and not done is done after a restart", async () => {
  const databaseUrl = await aDatabase();
  const held = gatedTasks();
  const first = await startRuntime({
    databaseUrl,
    tasks: held,
    settings: { "Server.ShutdownSeconds": 0 },
  });
  await first.publish(
    gatedTask("call"),
    aWorkflow("kept")
      .state("open")
      .transition("slow", { to: "done", onExecutionTasks: hook("call") })
      .state("done"),
  );
  const id = await instancesOf(first, "kept").begin();
  await instancesOf(first, "kept").send(id, "slow", { a: 1 }, queued);
  await held.waiting("call");
  await first.stop();

  const again = gatedTasks();
  const second = await startRuntime({ databaseUrl, tasks: again, roles: ["api", "worker"] });
  const kept = instancesOf(second, "kept");
  await again.waiting("call");
  expect((await kept.read(id)).metadata.status).toBe("B");
  again.open("call", { b: 2 });

  await eventually(async () => {
    expect(await kept.read(id)).toMatchObject({
      metadata: { status: "A", currentState: "done" },
      attributes: { a: 1, b: 2 },
    });
  });
  expect(movesOf(await kept.history(id))).toEqual(["start: open-open", "slow: open-done"]);
  // The same work, under the same name: whoever is called can tell.
  expect(again.begun).toEqual(held.begun);
});
