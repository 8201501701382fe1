import { Client } from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { aWorkflow, type WorkflowBuilder } from "../support/a-workflow.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, idOf, instancesOf, movesOf } from "../support/instances-of.ts";
import { startRuntimeForFile } from "../support/start-runtime.ts";

const app = await startRuntimeForFile();
const database = new Client({ connectionString: app.databaseUrl });
await database.connect();
afterAll(() => database.end());
const amount = "context.Instance.Data.amount";
await app.publish(
  aWorkflow("loan")
    .state("draft")
    .transition("submit", { to: "scoring" })
    .state("scoring")
    // The default stands first and is asked last.
    .transition("else", { to: "review", otherwise: true })
    .transition("tiny", { to: "granted", rule: `${amount} < 10` })
    .transition("small", { to: "granted", rule: `${amount} < 100` })
    .transition("huge", { to: "refused", rule: `${amount} >= 1000` })
    .state("review", { subType: "human" })
    .transition("approve", { to: "granted" })
    .state("granted", { type: "finish", subType: "success" })
    .state("refused", { type: "finish", subType: "error" }),
);
const loans = instancesOf(app, "loan");

describe("of the automatic transitions", () => {
  test.each([
    [5, "tiny", "granted", "C"],
    [50, "small", "granted", "C"],
    [500, "else", "review", "A"],
    [5000, "huge", "refused", "C"],
  ])("with %i the first whose rule holds wins: '%s'", async (n, key, state, status) => {
    const id = await loans.begin();

    const answer = await loans.send(id, "submit", { amount: n });

    expect(answer).toMatchObject({ status: 200, body: { status } });
    expect((await loans.read(id)).metadata.currentState).toBe(state);
    expect(movesOf(await loans.history(id)).slice(1)).toEqual([
      "submit: draft-scoring",
      `${key}: scoring-${state}`,
    ]);
  });

  test("the whole chain is one job when it is queued", async () => {
    const id = await loans.begin();

    const answer = await loans.send(id, "submit", { amount: 5 }, { query: "sync=false" });

    expect(answer.status).toBe(202);
    await eventually(async () => {
      expect((await loans.read(id)).metadata).toMatchObject({
        status: "C",
        currentState: "granted",
      });
    });
  });

  test("a start follows them too", async () => {
    await app.publish(
      aWorkflow("chain")
        .state("a")
        .transition("to-b", { to: "b", otherwise: true })
        .state("b")
        .transition("to-c", { to: "c", rule: "true" })
        .state("c")
        .transition("stop", {}),
    );
    const chain = instancesOf(app, "chain");

    const answer = await chain.start({ stage: "S", attributes: {} });

    const id = idOf(answer);
    expect(answer.body).toMatchObject({ status: "A" });
    expect(movesOf(await chain.history(id))).toEqual(["start: a-a", "to-b: a-b", "to-c: b-c"]);
    expect((await chain.history(id)).map((r) => r.stage)).toEqual(["S", "S", "S"]);
    expect((await chain.read(id)).metadata.stage).toBe("S");
  });
});

const two = (key: string): WorkflowBuilder =>
  aWorkflow(key)
    .state("open")
    .transition("go", { to: "waiting" })
    .state("waiting")
    .transition("rule", { to: "done", rule: "context.Instance.Data.ok == true" });

describe("when no rule holds", () => {
  test("the instance stays, Active, where somebody can move it on", async () => {
    await app.publish(
      two("with-manual").transition("manual", { to: "done" }).state("done", { type: "finish" }),
    );
    const instances = instancesOf(app, "with-manual");
    const id = await instances.begin();

    expect(await instances.send(id, "go")).toMatchObject({ body: { status: "A" } });
    expect(await instances.send(id, "manual")).toMatchObject({ body: { status: "C" } });
  });

  test("the instance is parked Busy where only rules could", async () => {
    await app.publish(
      two("parked").state("done", { type: "finish" }).cancel("stop", { to: "done" }),
    );
    const instances = instancesOf(app, "parked");
    const id = await instances.begin();

    expect(await instances.send(id, "go")).toMatchObject({ status: 200, body: { status: "B" } });
    expect((await instances.read(id)).metadata).toMatchObject({
      status: "B",
      currentState: "waiting",
    });
    expect(codeOf(await instances.send(id, "go"))).toBe("409 conflict.Instance:100031");
    expect(await instances.send(id, "cancel")).toMatchObject({ body: { status: "C" } });
  });
});

describe("rules that hold in a circle", () => {
  const circle = aWorkflow("circle")
    .state("a")
    .transition("go", { to: "b" })
    .state("b")
    .transition("to-c", { to: "c", rule: "true" })
    .state("c")
    .transition("to-b", { to: "b", otherwise: true });
  const ready = app.publish(circle);
  const instances = instancesOf(app, "circle");

  test("end after 50 transitions: 200 with status F and an incident", async () => {
    await ready;
    const id = await instances.begin();

    const answer = await instances.send(id, "go");

    expect(answer).toMatchObject({ status: 200, body: { status: "F" } });
    expect(await instances.history(id)).toHaveLength(1 + 50);
    expect((await instances.read(id)).metadata).toMatchObject({
      status: "F",
      incident: {
        hasActiveIncident: true,
        totalCount: 1,
        active: { href: `${instances.path}/${id}/incidents/active` },
      },
    });
    const { rows } = await database.query(
      "select error_code, error_layer, message from incident where instance_id = $1",
      [id],
    );
    expect(rows).toEqual([
      {
        error_code: "Transition:100017",
        error_layer: "Pipeline",
        message: expect.stringContaining("50"),
      },
    ]);
    expect(codeOf(await instances.send(id, "go"))).toBe("400 validation.Instance:100018");
  });

  test("end so in a queued start as well", async () => {
    await app.publish(
      aWorkflow("circle-at-once")
        .state("a")
        .transition("to-b", { to: "b", otherwise: true })
        .state("b")
        .transition("to-a", { to: "a", otherwise: true }),
    );
    const atOnce = instancesOf(app, "circle-at-once");

    const answer = await atOnce.start({}, { query: "sync=false" });

    await eventually(async () => {
      expect((await atOnce.read(idOf(answer))).metadata.status).toBe("F");
    });
    expect(await atOnce.history(idOf(answer))).toHaveLength(50);
  });

  test("a chain of exactly 50 is fine", async () => {
    const states = Array.from({ length: 50 }, (_, i) => i);
    const long = states.reduce(
      (flow, i) =>
        i === 49
          ? flow.state(`s${i}`).transition("rest", {})
          : flow.state(`s${i}`).transition(`t${i}`, { to: `s${i + 1}`, otherwise: true }),
      aWorkflow("long"),
    );
    await app.publish(long);
    const instances50 = instancesOf(app, "long");

    const answer = await instances50.start();

    expect(answer).toMatchObject({ status: 200, body: { status: "A" } });
    expect(await instances50.history(idOf(answer))).toHaveLength(50);
  });
});

test("a rule that cannot be evaluated faults the instance in the state it has reached", async () => {
  await app.publish(
    aWorkflow("broken")
      .state("a")
      .transition("go", { to: "b" })
      .state("b")
      .transition("bad", { to: "a", rule: "context.Instance.Data.text < 5" }),
  );
  const broken = instancesOf(app, "broken");
  const id = await broken.begin({ text: "abc" });

  const answer = await broken.send(id, "go");

  expect(answer).toMatchObject({ status: 200, body: { status: "F" } });
  expect((await broken.read(id)).metadata).toMatchObject({ status: "F", currentState: "b" });
});
