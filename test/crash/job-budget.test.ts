import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { instancesOf } from "../support/instances-of.ts";
import { startRuntime } from "../support/start-runtime.ts";
import { holdTasks } from "./held-tasks.ts";
import { journey } from "./journey.ts";
import { auditOf, rowsOf, unfinished } from "./promises.ts";

const settings = { "WorkflowExecution.TransitionJobTimeoutSeconds": 1 };

/** One instance, begun on a node that is patient: only what is to run out of time has little of it. */
async function startWithHangingTask(tasks = holdTasks()) {
  const patient = await startRuntime();
  const { databaseUrl } = patient;
  const app = await startRuntime({ databaseUrl, settings, roles: ["api", "worker"], tasks });
  await patient.publish(...journey);
  const elsewhere = instancesOf(patient, "journey");
  const id = await elsewhere.begin();
  return { app, tasks, journeys: instancesOf(app, "journey"), elsewhere, id };
}

const incidentsOf = (url: string) =>
  rowsOf(url, "select error_code, error_layer, state, transition, trace_id from incident");

test("a queued transition over its budget is Faulted, with one incident and its record closed", async () => {
  const { app, tasks, journeys, id } = await startWithHangingTask();

  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const sent = { query: "sync=false", headers: { traceparent } };
  expect(await journeys.send(id, "call", {}, sent)).toMatchObject({ status: 202 });
  await eventually(async () => {
    expect(await journeys.read(id)).toMatchObject({ metadata: { status: "F" } });
  });
  tasks.release();

  expect(await incidentsOf(app.databaseUrl)).toEqual([
    {
      error_code: "JOB_EXECUTION_TIMEOUT",
      error_layer: "Job",
      state: "open",
      transition: "call",
      trace_id: "0af7651916cd43dd8448eb211c80319c",
    },
  ]);
  const [, call] = await journeys.history(id);
  expect(call).toMatchObject({ transitionKey: "call", effectiveState: null });
  expect(call).toHaveProperty("finishedAt");
  expect(call).not.toHaveProperty("toState");
  await eventually(async () => expect(await unfinished(app.databaseUrl)).toEqual([]));
  expect(await auditOf(app.databaseUrl)).toEqual([]);
});

test("the same budget holds for a caller who waits: 200 with status F", async () => {
  const { app, journeys, id } = await startWithHangingTask();

  const answer = await journeys.send(id, "call", { key: "once", attributes: {} });

  expect(answer).toMatchObject({ status: 200, body: { id, status: "F" } });
  expect(await incidentsOf(app.databaseUrl)).toMatchObject([
    { error_code: "JOB_EXECUTION_TIMEOUT", error_layer: "Job" },
  ]);
  const repeat = await journeys.send(id, "call", { key: "once", attributes: {} });
  expect(repeat).toMatchObject({ status: 200, body: { id, status: "F" } });
  expect(await auditOf(app.databaseUrl)).toEqual([]);
});

test("a timer's transition over its budget is Faulted as well", async () => {
  const { app, journeys, elsewhere, id } = await startWithHangingTask();

  await elsewhere.send(id, "wait");

  await eventually(async () => {
    expect(await journeys.read(id)).toMatchObject({ metadata: { status: "F" } });
  });
  expect(await incidentsOf(app.databaseUrl)).toMatchObject([
    { error_code: "JOB_EXECUTION_TIMEOUT", transition: "depart" },
  ]);
  await eventually(async () => expect(await unfinished(app.databaseUrl)).toEqual([]));
  expect(await auditOf(app.databaseUrl)).toEqual([]);
});

test("a run that had not been written yet gets its record with the fault", async () => {
  const tasks = { ...holdTasks(), isEffectful: () => false };
  const { app, journeys, id } = await startWithHangingTask(tasks);
  const body = { key: "once", attributes: { call: 1 } };

  const query = "sync=false";
  expect(await journeys.send(id, "call", body, { query })).toMatchObject({ status: 202 });
  await eventually(async () => {
    expect(await journeys.read(id)).toMatchObject({ metadata: { status: "F" } });
  });

  const [, call] = await journeys.history(id);
  expect(call).toMatchObject({ transitionKey: "call", effectiveState: null });
  expect(call).toHaveProperty("finishedAt");
  expect(await journeys.send(id, "call", body)).toMatchObject({ body: { status: "F" } });
  expect(await auditOf(app.databaseUrl)).toEqual([]);
});

test("a run whose job somebody outside cancels is Faulted like one over its budget, and can be retried", async () => {
  const tasks = holdTasks();
  const app = await startRuntime({ roles: ["api", "worker"], tasks });
  await app.publish(...journey);
  const journeys = instancesOf(app, "journey");
  const id = await journeys.begin();
  const going = journeys.send(id, "call");
  await eventually(() => expect(tasks.begun).toHaveLength(1));

  await rowsOf(app.databaseUrl, "delete from job where instance_id = $1", [id]);
  tasks.release();

  expect(await going).toMatchObject({ status: 200, body: { id, status: "F" } });
  expect(await incidentsOf(app.databaseUrl)).toMatchObject([
    { error_code: "JOB_EXECUTION_TIMEOUT", error_layer: "Job", transition: "call" },
  ]);
  const [, call] = await journeys.history(id);
  expect(call).toHaveProperty("finishedAt");
  expect(call).not.toHaveProperty("toState");
  const retried = await app.post(`${journeys.path}/${id}/retry?sync=true`);
  expect(retried).toMatchObject({ status: 200, body: { status: "A" } });
  expect(await auditOf(app.databaseUrl)).toEqual([]);
});
