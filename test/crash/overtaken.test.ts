/** Something else happens to an instance while a run of it is outside, on the same node or another. */
import { expect, onTestFinished, test } from "vitest";
import { aComponent, aWorkflow, hook } from "../support/a-workflow.ts";
import { createDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { instancesOf, movesOf } from "../support/instances-of.ts";
import { startRuntime } from "../support/start-runtime.ts";
import { holdTasks } from "./held-tasks.ts";
import { journey } from "./journey.ts";
import { auditOf, rowsOf, unfinished } from "./promises.ts";

const roles = ["api", "worker"] as const;

async function twoNodes(...components: object[]) {
  const { url, drop } = await createDatabase();
  onTestFinished(drop);
  const start = async () => {
    const tasks = holdTasks();
    const app = await startRuntime({ databaseUrl: url, roles, tasks });
    return { app, tasks };
  };
  const [first, second] = [await start(), await start()];
  await first.app.publish(...components);
  return { url, first, second };
}

const queued = { query: "sync=false" };

test.for([{ sync: true }, { sync: false }])(
  "data changed by another node while a run is outside: both are kept, nothing runs twice (sync=$sync)",
  async ({ sync }) => {
    const { url, first, second } = await twoNodes(...journey);
    const [here, there] = [instancesOf(first.app, "journey"), instancesOf(second.app, "journey")];
    const id = await here.begin();
    const calling = here.send(id, "call", { call: 1 }, { query: `sync=${sync}` });
    await eventually(() => expect(first.tasks.begun).toHaveLength(1));

    const amended = await there.send(id, "amend", { amend: 1 });
    expect(amended).toMatchObject({ status: 200, body: { status: "B" } });
    first.tasks.release();
    expect(await calling).toMatchObject({ status: sync ? 200 : 202 });

    await eventually(async () => expect(await unfinished(url)).toEqual([]));
    const { metadata, attributes } = await here.read(id);
    expect(metadata.status).toBe("A");
    expect(attributes).toEqual({ call: 1, amend: 1, "done-1": true });
    expect(movesOf(await here.history(id))).toEqual([
      "start: open-open",
      "call: open-open",
      "amend: open-open",
    ]);
    expect(first.tasks.begun).toHaveLength(1);
    expect(await auditOf(url)).toEqual([]);
  },
);

test("updates of the data queued while an instance is Busy each keep their payload", async () => {
  const { url, first, second } = await twoNodes(...journey);
  const here = instancesOf(first.app, "journey");
  const there = instancesOf(second.app, "journey");
  const id = await here.begin();
  await here.send(id, "call", {}, queued);
  await eventually(() => expect(first.tasks.begun).toHaveLength(1));

  const amends = Array.from({ length: 10 }, (_, i) =>
    (i % 2 === 0 ? here : there).send(id, "amend", { [`amend${i}`]: i }, queued),
  );
  for (const amend of amends) expect(await amend).toMatchObject({ status: 202 });
  first.tasks.release();

  await eventually(async () => expect(await unfinished(url)).toEqual([]));
  const { attributes = {} } = await here.read(id);
  for (let i = 0; i < 10; i += 1) expect(attributes).toHaveProperty(`amend${i}`, i);
  expect(await here.history(id)).toHaveLength(12);
  expect(await auditOf(url)).toEqual([]);
});

test("an update of the data that reaches outside leaves the status as it was", async () => {
  const tasks = holdTasks();
  const app = await startRuntime({ roles, tasks });
  await app.publish(
    aComponent("sys-tasks", "effect", { type: "7", config: {} }),
    aWorkflow("file")
      .state("open")
      .transition("note")
      .updateData("amend", { onExecutionTasks: hook("effect") }),
  );
  const files = instancesOf(app, "file");
  const id = await files.begin();
  const amending = files.send(id, "amend", { amend: 1 });
  await eventually(() => expect(tasks.begun).toHaveLength(1));

  expect(await files.read(id)).toMatchObject({ metadata: { status: "A" } });
  expect(await files.send(id, "note", { note: 1 })).toMatchObject({ status: 200 });
  tasks.release();

  expect(await amending).toMatchObject({ status: 200, body: { status: "A" } });
  expect((await files.read(id)).attributes).toEqual({ amend: 1, note: 1, "done-1": true });
  expect(await auditOf(app.databaseUrl)).toEqual([]);
});

test.for([{ where: "the same node" }, { where: "another node" }])(
  "a cancel on $where ends an instance whose run hangs outside; the run's late result is dropped",
  async ({ where }) => {
    const workflow = aWorkflow("errand")
      .state("open")
      .transition("call", { onExecutionTasks: hook("effect") })
      .cancel("stop", { to: "stopped" })
      .state("stopped", { type: "finish", subType: "success" });
    const effect = aComponent("sys-tasks", "effect", { type: "7", config: {} });
    const { url, first, second } = await twoNodes(effect, workflow);
    const here = instancesOf(first.app, "errand");
    const canceller = where === "the same node" ? here : instancesOf(second.app, "errand");
    const id = await here.begin();
    const body = { key: "once", attributes: { call: 1 } };
    const calling = here.send(id, "call", body);
    await eventually(() => expect(first.tasks.begun).toHaveLength(1));

    const cancelled = await canceller.send(id, "stop");
    expect(cancelled).toMatchObject({ status: 200, body: { status: "C" } });
    first.tasks.release();

    expect(await calling).toMatchObject({ status: 200, body: { status: "C" } });
    expect((await here.read(id)).attributes).toEqual({ call: 1 });
    const [, call, stop] = await here.history(id);
    expect(call).toMatchObject({ transitionKey: "call", effectiveState: null });
    expect(call).toHaveProperty("finishedAt");
    expect(stop).toMatchObject({ transitionKey: "stop", toState: "stopped" });
    expect(await here.send(id, "call", body)).toMatchObject({ body: { status: "C" } });
    await eventually(async () => expect(await unfinished(url)).toEqual([]));
    expect(await auditOf(url)).toEqual([]);
  },
);

test("a timeout ends the run that is under way, and updates of the data survive it", async () => {
  const tasks = holdTasks();
  const app = await startRuntime({ roles, tasks });
  await app.publish(
    aComponent("sys-tasks", "effect", { type: "7", config: {} }),
    aWorkflow("errand")
      .state("open")
      .transition("call", { onExecutionTasks: hook("effect") })
      .updateData("amend")
      .timeout("late", { to: "overdue", after: "P1D" })
      .state("overdue")
      .transition("close", { to: "closed" })
      .state("closed", { type: "finish", subType: "success" }),
  );
  const errands = instancesOf(app, "errand");
  const id = await errands.begin();
  await errands.send(id, "call", {}, queued);
  await eventually(() => expect(tasks.begun).toHaveLength(1));

  await rowsOf(app.databaseUrl, "update job set ready_at = now() where kind = 'to'");
  await eventually(async () => {
    expect(await errands.read(id)).toMatchObject({
      metadata: { status: "A", currentState: "overdue" },
    });
  });
  tasks.release();
  expect(await errands.send(id, "amend", { amend: 1 })).toMatchObject({ status: 200 });

  await eventually(async () => expect(await unfinished(app.databaseUrl)).toEqual([]));
  expect(movesOf(await errands.history(id))).toEqual([
    "start: open-open",
    "call: open-undefined",
    "late: open-overdue",
    "amend: overdue-overdue",
  ]);
  expect(await auditOf(app.databaseUrl)).toEqual([]);
});

test("a timer moves an instance on from a state that keeps it Busy", async () => {
  const app = await startRuntime({ roles });
  await app.publish(
    aWorkflow("parcel")
      .state("new")
      .transition("send", { to: "onTheWay" })
      .state("onTheWay", { subType: "busy" })
      .transition("arrive", { to: "there", timer: "PT0.2S" })
      .state("there")
      .transition("open"),
  );
  const parcels = instancesOf(app, "parcel");
  const id = await parcels.begin();

  const sent = await parcels.send(id, "send");

  expect(sent).toMatchObject({ status: 200, body: { status: "B" } });
  await eventually(async () => {
    expect(await parcels.read(id)).toMatchObject({
      metadata: { status: "A", currentState: "there" },
    });
  });
  expect(await auditOf(app.databaseUrl)).toEqual([]);
});

test("a timer that comes back to its own state is set anew each time", async () => {
  const app = await startRuntime({ roles });
  await app.publish(
    aWorkflow("clock").state("ticking").transition("tick", { to: "$self", timer: "PT0.1S" }),
  );
  const clocks = instancesOf(app, "clock");
  const id = await clocks.begin();

  await eventually(async () => expect((await clocks.history(id)).length).toBeGreaterThan(5));

  // Of a tick at this moment two of its questions may see two sides.
  await eventually(async () => expect(await auditOf(app.databaseUrl)).toEqual([]));
});
