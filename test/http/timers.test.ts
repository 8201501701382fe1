import { Client } from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { aWorkflow, expression } from "../support/a-workflow.ts";
import { aDatabase } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { instancesOf, movesOf, type Instances } from "../support/instances-of.ts";
import { startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";

const roles = ["api", "worker"] as const;
const app = await startRuntimeForFile({ roles });
const database = new Client({ connectionString: app.databaseUrl });
await database.connect();
afterAll(() => database.end());

interface JobRow {
  name: string;
  ready_at: Date;
}
const jobsOf = async (id: string, from = database) =>
  (
    await from.query<JobRow>(
      "select name, ready_at from job where instance_id = $1 order by name",
      [id],
    )
  ).rows;
const jobNames = async (id: string) => (await jobsOf(id)).map(({ name }) => name);
const hex = (id: string) => id.replaceAll("-", "");

const untilMoves = (instances: Instances, id: string, count: number) =>
  eventually(async () => {
    const records = await instances.history(id);
    expect(records.length).toBeGreaterThanOrEqual(count);
    return records;
  });

const later = "PT1H";

/** Everything that waits for these instances is due. */
const dueNow = async (ids: readonly string[], from = database) => {
  await from.query("update job set ready_at = now() where instance_id = any ($1)", [ids]);
};

await app.publish(
  aWorkflow("order")
    .state("open")
    .transition("go", { to: "waiting" })
    .transition("far", { to: "later" })
    .state("waiting", { subType: "human" })
    .transition("expire", { to: "expired", timer: "PT0.3S" })
    .transition("pay", { to: "paid" })
    .state("later")
    .transition("remind", { to: "paid", timer: later })
    .transition("give-up", { to: "expired", timer: "P2D" })
    .transition("again", {})
    .transition("back", { to: "open" })
    .transition("pay", { to: "paid" })
    .state("expired", { type: "finish", subType: "timeout" })
    .state("paid", { type: "finish", subType: "success" })
    .updateData("amend"),
);
const orders = instancesOf(app, "order");

describe("a scheduled transition", () => {
  test("fires once, not before its time, as the system", async () => {
    const id = await orders.begin({}, { headers: { act_sub: "agent" } });
    await orders.send(id, "go", { stage: "S", attributes: {} });

    const records = await untilMoves(orders, id, 3);

    expect(movesOf(records)).toEqual([
      "start: open-open",
      "go: open-waiting",
      "expire: waiting-expired",
    ]);
    const waited = Date.parse(records[2]!.startedAt) - Date.parse(records[1]!.finishedAt!);
    expect(waited).toBeGreaterThanOrEqual(300);
    expect(records[2]).toMatchObject({ triggerType: "scheduled", stage: "S" });
    expect(records[2]).not.toHaveProperty("createdBy");
    expect((await orders.read(id)).metadata).toMatchObject({
      status: "C",
      currentState: "expired",
      currentStateSubType: "timeout",
    });
    expect(await jobNames(id)).toEqual([]);
  });

  test("waits as a job with the name of its source state and its key", async () => {
    const id = await orders.begin();

    await orders.send(id, "far");

    expect(await jobNames(id)).toEqual([
      `service.job.v1.sx.${hex(id)}.later.give-up`,
      `service.job.v1.sx.${hex(id)}.later.remind`,
    ]);
  });

  test.each([
    ["back", []],
    ["pay", []],
  ])("is cancelled when its state is left by '%s'", async (key, names) => {
    const id = await orders.begin();
    await orders.send(id, "far");

    await orders.send(id, key);

    expect(await jobNames(id)).toEqual(names);
  });

  test("does not fire any more when its state was left in time", async () => {
    const id = await orders.begin();
    const other = await orders.begin();
    await orders.send(id, "far");
    await orders.send(id, "back");
    await orders.send(other, "far");

    // The other's timer was set later, so the first one's would have come before.
    await dueNow([id, other]);
    await untilMoves(orders, other, 3);

    expect(movesOf(await orders.history(id))).toEqual([
      "start: open-open",
      "far: open-later",
      "back: later-open",
    ]);
  });

  test("is set anew when the state is entered again, also by $self", async () => {
    const id = await orders.begin();
    await orders.send(id, "far");
    const first = await jobsOf(id);

    await orders.send(id, "again");
    const second = await jobsOf(id);
    await orders.send(id, "back");
    await orders.send(id, "far");
    const third = await jobsOf(id);

    expect(second.map((j) => j.name)).toEqual(first.map((j) => j.name));
    expect(third.map((j) => j.name)).toEqual(first.map((j) => j.name));
    for (const i of [0, 1]) {
      expect(second[i]!.ready_at.getTime()).toBeGreaterThan(first[i]!.ready_at.getTime());
      expect(third[i]!.ready_at.getTime()).toBeGreaterThan(second[i]!.ready_at.getTime());
    }
  });

  test("is left alone by updateData", async () => {
    const id = await orders.begin();
    await orders.send(id, "far");
    const before = await jobsOf(id);

    await orders.send(id, "amend", { a: 1 });
    await orders.send(id, "amend", { a: 2 }, { query: "sync=false" });

    await eventually(async () => expect((await orders.read(id)).attributes).toEqual({ a: 2 }));
    await eventually(async () => expect(await jobsOf(id)).toEqual(before));
  });

  test("that leads to its own state ticks on and on", async () => {
    await app.publish(
      aWorkflow("clock")
        .state("on")
        .transition("tick", { timer: "PT0.05S" })
        .transition("stop", { to: "off" })
        .state("off", { type: "finish" }),
    );
    const clocks = instancesOf(app, "clock");
    const id = await clocks.begin();

    const records = await untilMoves(clocks, id, 4);

    expect(new Set(movesOf(records).slice(1))).toEqual(new Set(["tick: on-on"]));
    await eventually(async () => {
      expect(await clocks.send(id, "stop")).toMatchObject({ body: { status: "C" } });
    });
    expect(await jobNames(id)).toEqual([]);
  });

  test("of a state the instance only passes through is never set", async () => {
    await app.publish(
      aWorkflow("through")
        .state("open")
        .transition("on", { to: "end", otherwise: true })
        .transition("remind", { timer: later })
        .state("end")
        .transition("x", {}),
    );
    const through = instancesOf(app, "through");

    expect(await jobNames(await through.begin())).toEqual([]);
  });

  test("wakes an instance in a busy state, which nobody else may", async () => {
    await app.publish(
      aWorkflow("callback")
        .state("open")
        .transition("call", { to: "calling" })
        .state("calling", { subType: "busy" })
        .transition("no-answer", { to: "open", timer: "PT0.1S" }),
    );
    const callbacks = instancesOf(app, "callback");
    const id = await callbacks.begin();

    expect(await callbacks.send(id, "call")).toMatchObject({ body: { status: "B" } });

    await eventually(async () => {
      expect((await callbacks.read(id)).metadata).toMatchObject({
        status: "A",
        currentState: "open",
      });
    });
  });

  test("goes on with the automatic transitions that follow it", async () => {
    await app.publish(
      aWorkflow("chained")
        .state("open")
        .transition("tick", { to: "middle", timer: "PT0.05S" })
        .state("middle")
        .transition("on", { to: "end", otherwise: true })
        .state("end", { type: "finish" }),
    );
    const chained = instancesOf(app, "chained");
    const id = await chained.begin();

    expect(movesOf(await untilMoves(chained, id, 3))).toEqual([
      "start: open-open",
      "tick: open-middle",
      "on: middle-end",
    ]);
  });

  test("may be an instant that the data name, also one that is past", async () => {
    await app.publish(
      aWorkflow("computed")
        .state("open")
        .transition("due", { to: "end", timer: expression("context.Instance.Data.dueAt") })
        .state("end", { type: "finish" }),
    );
    const computed = instancesOf(app, "computed");
    const future = new Date(Date.now() + 3_600_000);

    const waiting = await computed.begin({ dueAt: future.toISOString() });
    const past = await computed.begin({ dueAt: "2020-01-01T00:00:00Z" });

    expect((await jobsOf(waiting))[0]?.ready_at).toEqual(future);
    await untilMoves(computed, past, 2);
  });

  test("that cannot be computed faults the instance", async () => {
    const computed = instancesOf(app, "computed");

    const answer = await computed.start({ dueAt: "some day" });

    expect(answer).toMatchObject({ status: 200, body: { status: "F" } });
  });
});

test("100 timers on two nodes fire once each", async () => {
  const databaseUrl = await aDatabase();
  const [one, two] = await Promise.all([
    startRuntime({ databaseUrl, roles }),
    startRuntime({ databaseUrl, roles }),
  ]);
  await one.publish(
    aWorkflow("many")
      .state("open")
      .transition("tick", { to: "done", timer: "PT0.2S" })
      .state("done"),
  );
  const many = [instancesOf(one, "many"), instancesOf(two, "many")];

  const ids = await Promise.all(Array.from({ length: 100 }, (_, i) => many[i % 2]!.begin()));

  for (const id of ids) {
    await eventually(async () => {
      expect((await many[0]!.read(id)).metadata.currentState).toBe("done");
    });
  }
  for (const id of ids) expect(await many[1]!.history(id)).toHaveLength(2);
});

test("a timer that is set anew all the time never fires early", async () => {
  await app.publish(
    aWorkflow("nervous")
      .state("open")
      .transition("again", {})
      .transition("tick", { timer: "PT0.08S" }),
  );
  const nervous = instancesOf(app, "nervous");
  const ids = await Promise.all(Array.from({ length: 10 }, () => nervous.begin()));

  await Promise.all(
    ids.map(async (id, i) => {
      for (let round = 0; round < 8; round += 1) {
        await eventually(async () => expect((await nervous.send(id, "again")).status).toBe(200));
        // Around the time the timer is due, each instance a little off the others.
        const since = performance.now();
        await eventually(() => expect(performance.now() - since).toBeGreaterThan(60 + 4 * i));
      }
    }),
  );

  for (const id of ids) {
    const records = await nervous.history(id);
    for (const [i, record] of records.entries()) {
      if (record.transitionKey !== "tick") continue;
      const waited = Date.parse(record.startedAt) - Date.parse(records[i - 1]!.finishedAt!);
      expect(waited).toBeGreaterThanOrEqual(80);
    }
  }
});

describe("a timer and a restart:", () => {
  const flow = aWorkflow("patient")
    .state("open")
    .transition("soon", { to: "done", timer: later })
    .state("done", { type: "finish" })
    .timeout("too-late", { to: "done", after: "P1D" });

  const timerIsDue = async (databaseUrl: string) => {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    const { rowCount } = await client.query(
      "update job set ready_at = now() where kind = 'sx' and owner is null",
    );
    await client.end();
    expect(rowCount).toBe(1);
  };

  test("it fires after the restart, also when it fell due while nobody was there", async () => {
    const databaseUrl = await aDatabase();
    const first = await startRuntime({ databaseUrl, roles });
    await first.publish(flow);
    const id = await instancesOf(first, "patient").begin();
    await first.stop();
    await timerIsDue(databaseUrl);

    const second = await startRuntime({ databaseUrl, roles });

    const patient = instancesOf(second, "patient");
    expect(movesOf(await untilMoves(patient, id, 2))).toEqual([
      "start: open-open",
      "soon: open-done",
    ]);
    expect((await patient.read(id)).metadata.status).toBe("C");
  });

  test("a node that only serves the API sets it, a worker fires it", async () => {
    const databaseUrl = await aDatabase();
    const api = await startRuntime({ databaseUrl, roles: ["api"] });
    await api.publish(flow);
    const patient = instancesOf(api, "patient");
    const id = await patient.begin();
    await timerIsDue(databaseUrl);
    expect(await patient.history(id)).toHaveLength(1);

    await startRuntime({ databaseUrl, roles: ["worker"] });

    await untilMoves(patient, id, 2);
  });
});

const flow = (key: string, after: string) =>
  aWorkflow(key)
    .state("open")
    .transition("go", { to: "busy" })
    .transition("park", { to: "parked" })
    .transition("again", {})
    .transition("finish", { to: "done" })
    .state("busy", { subType: "busy" })
    .state("parked")
    .transition("never", { to: "done", rule: "false" })
    .state("done", { type: "finish" })
    .state("timed-out", { type: "finish", subType: "timeout" })
    .timeout("too-late", { to: "timed-out", after });

describe("the workflow's timeout", () => {
  test("waits as a job with a name of its own, set once at the start", async () => {
    await app.publish(flow("slow", "P1D"));
    const slow = instancesOf(app, "slow");
    const id = await slow.begin();
    const before = await jobsOf(id);

    await slow.send(id, "again");

    expect(before.map(({ name }) => name)).toEqual([`service.job.v1.to.${hex(id)}`]);
    const inHours = (before[0]!.ready_at.getTime() - Date.now()) / 3_600_000;
    expect(Math.round(inHours)).toBe(24);
    expect(await jobsOf(id)).toEqual(before);
    await slow.send(id, "finish");
    expect(await jobNames(id)).toEqual([]);
  });

  test.each([
    ["an instance at rest", "again"],
    ["one in a busy state", "go"],
    ["one that is parked", "park"],
  ])("ends %s, under its own key", async (_, key) => {
    await app.publish(flow(`quick-${key}`, "P1D"));
    const quick = instancesOf(app, `quick-${key}`);
    const id = await quick.begin();
    await quick.send(id, key);
    const from = (await quick.read(id)).metadata.currentState;

    await dueNow([id]);
    const records = await untilMoves(quick, id, 3);

    expect(movesOf(records)[2]).toBe(`too-late: ${from}-timed-out`);
    expect(records[2]).toMatchObject({ triggerType: "scheduled" });
    expect((await quick.read(id)).metadata).toMatchObject({
      status: "C",
      currentStateSubType: "timeout",
    });
    expect(await jobNames(id)).toEqual([]);
  });

  test("is set by a queued start when that is done", async () => {
    await app.publish(flow("queued", "P1D"));
    const queued = instancesOf(app, "queued");

    const { body } = await queued.start({}, { query: "sync=false" });

    const { id } = body as { id: string };
    await eventually(async () => {
      expect(await jobNames(id)).toEqual([`service.job.v1.to.${hex(id)}`]);
    });
  });

  test("is not set for an instance that ends at once", async () => {
    await app.publish(
      aWorkflow("instant")
        .state("open")
        .transition("on", { to: "done", otherwise: true })
        .state("done", { type: "finish" })
        .timeout("too-late", { to: "done", after: "P1D" }),
    );
    const instant = instancesOf(app, "instant");

    expect(await jobNames(await instant.begin())).toEqual([]);
  });
});
