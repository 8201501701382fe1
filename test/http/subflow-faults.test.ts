/** A subflow that fails, cannot start, or cannot hand over: what its parents make of it. */
import { describe, expect, test } from "vitest";
import { rowsOf } from "../crash/promises.ts";
import { aScriptTask, output, slot, taskWith } from "../support/a-script-slot.ts";
import { auditAtEnd } from "../support/audited.ts";
import { aSchema, aWorkflow, type WorkflowBuilder } from "../support/a-workflow.ts";
import { instancesOf, movesOf, type Instances } from "../support/instances-of.ts";
import { startRuntime, startRuntimeForFile } from "../support/start-runtime.ts";
import { between, childOf, childrenOf, descendantsOf, inside } from "../support/subflows.ts";

const app = await startRuntimeForFile({ roles: ["api", "worker"] });
auditAtEnd(app);

const boundary = (...onError: object[]) => ({ errorBoundary: { onError } });
const out = (more: object = {}) => ({ action: "rollback", transition: "compensate", ...more });
const brittle = taskWith(
  "work",
  output("if (!context.Instance.Data.fixed) throw new Error('broken'); return {};"),
);

/** Breaks when told to. */
const child = (key: string, more: object = {}) =>
  aWorkflow(key)
    .state("waiting")
    .transition("break", { to: "done", onExecutionTasks: [brittle] })
    .transition("finish", { to: "done" })
    .state("done", { type: "finish", subType: "success" })
    .state("compensated", { type: "finish", subType: "error" })
    .shared("compensate", { to: "compensated" })
    .with(more);

interface ParentOptions {
  state?: object;
  workflow?: object;
  subFlow?: object;
}

/** Goes into the child at once; comes to `after`, or by its boundary to `compensated`. */
const parent = (
  key: string,
  of: string,
  { state, workflow, subFlow }: ParentOptions = {},
): WorkflowBuilder =>
  aWorkflow(key)
    .state("first")
    .transition("down", { to: "inside", otherwise: true })
    .state("inside", { ...inside(of, { ...subFlow }), ...state })
    .transition("up", { to: "after", otherwise: true })
    .state("after", { type: "finish", subType: "success" })
    .state("compensated", { type: "finish", subType: "error" })
    .state("gone", { type: "finish", subType: "cancelled" })
    .shared("compensate", { to: "compensated" })
    .shared("touch", { onExecutionTasks: [brittle] })
    .cancel("drop", { to: "gone" })
    .with({ ...workflow });

await app.publish(
  aScriptTask("work"),
  aSchema("amounts", {
    type: "object",
    properties: { amount: { type: "number" } },
    required: ["amount"],
  }),
  aSchema("numbers", { type: "object", properties: { amount: { type: "number" } } }),
  child("child"),
);

const retry = (flow: Instances, id: string, body: object = {}) =>
  app.post(`${flow.path}/${id}/retry?sync=true`, body);
const fixed = { attributes: { fixed: true } };

const incidentsOf = async (flow: Instances, id: string) =>
  ((await app.get(`${flow.path}/${id}/incidents`)).body as { items: object[] }).items;

async function begin(key: string) {
  const flow = instancesOf(app, key);
  const id = await flow.begin({});
  return { flow, id };
}

const statusOf = async (flow: Instances, id: string) => {
  const { status, currentState } = (await flow.read(id)).metadata;
  return `${status} ${currentState}`;
};

describe("a child that fails is the business of", () => {
  test("its own boundary first: then its parent hears of nothing", async () => {
    await app.publish(
      child("careful", boundary(out())),
      parent("of-careful", "careful", { state: boundary(out()) }),
    );
    const { flow, id } = await begin("of-careful");

    expect(await flow.send(id, "break")).toMatchObject({ body: { id, status: "C" } });

    expect(await statusOf(flow, id)).toBe("C after");
    expect(await incidentsOf(flow, id)).toEqual([]);
    expect(await childrenOf(app, id)).toMatchObject([{ outcome: "completed" }]);
  });

  test("its own boundary only where that has a rule for it: else the parent's", async () => {
    const other = boundary(out({ errorCodes: ["404"] }));
    await app.publish(
      child("half-careful", other),
      parent("of-half", "half-careful", { state: boundary(out()) }),
    );
    const { flow, id } = await begin("of-half");

    await flow.send(id, "break");

    expect(await statusOf(flow, id)).toBe("C compensated");
  });

  test.for([
    ["state", { state: boundary(out()) }, "State"],
    ["workflow", { workflow: boundary(out()) }, "Global"],
    [
      "state before its workflow",
      { state: boundary(out()), workflow: boundary({ action: "abort" }) },
      "State",
    ],
  ] as const)("its parent's %s", async ([what, options, level]) => {
    const key = `parent-by-${what.replaceAll(" ", "-")}`;
    await app.publish(parent(key, "child", options));
    const { flow, id } = await begin(key);

    const answer = await flow.send(id, "break");

    expect(answer).toMatchObject({ status: 200, body: { id, status: "C" } });
    expect(movesOf(await flow.history(id))).toEqual([
      "start: first-first",
      "down: first-inside",
      "compensate: inside-compensated",
    ]);
    expect(await incidentsOf(flow, id)).toMatchObject([
      {
        errorCode: "Task:400008",
        boundaryLevel: level,
        boundaryAction: "Rollback",
        isResolved: true,
      },
    ]);
    expect(await childrenOf(app, id)).toMatchObject([{ outcome: "faulted", isCompleted: true }]);
    expect(await statusOf(instancesOf(app, "child"), await childOf(app, id))).toBe("F waiting");
  });

  test.for([
    ["the child's error code", { errorCodes: ["Task:400008"] }, "C compensated"],
    ["the type SubFlow", { errorTypes: ["SubFlow"] }, "C compensated"],
    ["another code", { errorCodes: ["500"] }, "F inside"],
  ] as const)("its parent's rule for %s", async ([what, names, expected]) => {
    const key = `parent-for-${what.replaceAll(/\W/g, "-")}`;
    await app.publish(parent(key, "child", { state: boundary(out(names)) }));
    const { flow, id } = await begin(key);

    await flow.send(id, "break");

    expect(await statusOf(flow, id)).toBe(expected);
  });

  test.for([
    ["ignore", { action: "ignore" }, "C after", "C after"],
    ["log", { action: "log" }, "C after", "C after"],
    ["transition", out(), "C compensated", "F inside"],
    ["abort", { action: "abort" }, "F inside", "F inside"],
  ] as const)(
    "its grandparent, by %s, when the parent says nothing",
    async ([what, rule, expected]) => {
      const middle = `middle-of-${what}`;
      const top = `top-of-${what}`;
      await app.publish(parent(middle, "child"), parent(top, middle, { state: boundary(rule) }));
      const { flow, id } = await begin(top);
      const [below, leaf] = await descendantsOf(app, id);

      await flow.send(id, "break");

      expect(await statusOf(flow, id)).toBe(expected);
      expect(await statusOf(instancesOf(app, middle), below!)).toBe("F inside");
      expect(await statusOf(instancesOf(app, "child"), leaf!)).toBe("F waiting");
      const incidents = await incidentsOf(flow, id);
      expect(incidents).toMatchObject([{ errorCode: "Task:400008", isResolved: what !== "abort" }]);
    },
  );

  test("nobody: then all fault, and the incident names child and reason", async () => {
    await app.publish(parent("unprepared", "child"));
    const { flow, id } = await begin("unprepared");

    expect(await flow.send(id, "break")).toMatchObject({ body: { id, status: "F" } });

    const [incident] = await incidentsOf(flow, id);
    expect(incident).toMatchObject({
      errorCode: "Task:400008",
      errorLayer: "Pipeline",
      state: "inside",
      isResolved: false,
    });
    expect((incident as { message: string }).message).toContain(await childOf(app, id));
    expect(await childrenOf(app, id)).toMatchObject([{ outcome: "faulted", isCompleted: false }]);
  });

  test("a child that fails while it starts, too", async () => {
    await app.publish(
      aWorkflow("stillborn")
        .start("start", { onExecutionTasks: [brittle] })
        .state("open"),
      parent("of-stillborn", "stillborn", { state: boundary({ action: "ignore" }) }),
    );
    const flow = instancesOf(app, "of-stillborn");

    expect(await flow.start({})).toMatchObject({ status: 200, body: { status: "C" } });
  });
});

describe("after a child's fault a retry", () => {
  test("of a child that was ignored goes on with the child alone", async () => {
    await app.publish(parent("ignoring", "child", { state: boundary({ action: "ignore" }) }));
    const { flow, id } = await begin("ignoring");
    await flow.send(id, "break");
    const children = instancesOf(app, "child");

    expect(await retry(children, await childOf(app, id), fixed)).toMatchObject({
      body: { status: "C" },
    });

    expect(await statusOf(flow, id)).toBe("C after");
    expect(await flow.history(id)).toHaveLength(3);
  });

  test("of a parent that failed on its own leaves the child alone", async () => {
    await app.publish(parent("touchy", "child"));
    const { flow, id } = await begin("touchy");
    const below = await childOf(app, id);

    expect(await flow.send(id, "touch")).toMatchObject({ body: { id, status: "F" } });
    expect(await statusOf(instancesOf(app, "child"), below)).toBe("A waiting");
    expect(await retry(flow, id, fixed)).toMatchObject({ body: { id, status: "B" } });

    expect(await flow.send(id, "finish")).toMatchObject({ body: { id, status: "C" } });
    expect(movesOf(await flow.history(id))).toEqual([
      "start: first-first",
      "down: first-inside",
      "touch: inside-inside",
      "up: inside-after",
    ]);
  });

  test("is not needed when the child of a parent that failed on its own comes to its end", async () => {
    const { flow, id } = await begin("touchy");
    await flow.send(id, "touch");

    expect(await instancesOf(app, "child").send(await childOf(app, id), "finish")).toMatchObject({
      body: { status: "C" },
    });

    expect(await statusOf(flow, id)).toBe("C after");
    expect(await incidentsOf(flow, id)).toMatchObject([{ isResolved: true }]);
  });

  test("is not needed then either when the parent rests: what it failed in is closed", async () => {
    await app.publish(
      aWorkflow("touchy-resting")
        .state("first")
        .transition("down", { to: "inside", otherwise: true })
        .state("inside", inside("child"))
        .transition("up", { to: "after", otherwise: true })
        .state("after")
        .transition("again", {})
        .shared("touch", { onExecutionTasks: [brittle] }),
    );
    const { flow, id } = await begin("touchy-resting");
    await flow.send(id, "touch");

    await instancesOf(app, "child").send(await childOf(app, id), "finish");

    expect(await statusOf(flow, id)).toBe("A after");
    const records = await flow.history(id);
    expect(movesOf(records)).toContain("touch: inside-undefined");
    expect(records.every((it) => it.finishedAt !== undefined)).toBe(true);
  });
});

describe("a child that cannot be handed over", () => {
  const badOutput = between(
    "return { Data: {} };",
    "if (!context.Instance.Data.fixed) throw new Error('no output'); return { Data: { got: 1 } };",
  );

  test("for its output mapping fails: the parent faults, and a retry maps again", async () => {
    await app.publish(parent("bad-output", "child", { subFlow: { mapping: badOutput } }));
    const { flow, id } = await begin("bad-output");

    expect(await flow.send(id, "finish")).toMatchObject({ body: { id, status: "F" } });
    expect(await incidentsOf(flow, id)).toMatchObject([{ errorCode: "Instance:100030" }]);
    expect(await retry(flow, id)).toMatchObject({ body: { id, status: "F" } });
    expect(await retry(flow, id, fixed)).toMatchObject({ body: { id, status: "C" } });

    expect((await flow.read(id)).attributes).toEqual({ fixed: true, got: 1 });
    expect(await childrenOf(app, id)).toMatchObject([{ outcome: "completed", isCompleted: true }]);
  });

  test("for the parent's schema refuses the output", async () => {
    const mapping = between(
      "return { Data: {} };",
      "return { Data: { amount: context.Instance.Data.fixed ? 1 : 'many' } };",
    );
    await app.publish(parent("strict-parent", "child", { subFlow: { mapping } }).schema("numbers"));
    const { flow, id } = await begin("strict-parent");

    expect(await flow.send(id, "finish")).toMatchObject({ body: { id, status: "F" } });
    expect(await incidentsOf(flow, id)).toMatchObject([{ errorCode: "Instance:100030" }]);
    expect(await retry(flow, id, fixed)).toMatchObject({ body: { id, status: "C" } });
  });
});

describe("a child that cannot be started faults its parent with Instance:100023", () => {
  test("when its flow is not published; after that a retry starts it", async () => {
    await app.publish(parent("early", "not-yet"));
    const flow = instancesOf(app, "early");
    const started = await flow.start({});
    const { id } = started.body as { id: string };
    expect(started).toMatchObject({ status: 200, body: { status: "F" } });
    expect(await incidentsOf(flow, id)).toMatchObject([
      { errorCode: "Instance:100023", errorLayer: "Pipeline", state: "inside" },
    ]);
    expect(await retry(flow, id)).toMatchObject({ body: { status: "F" } });
    await app.publish(child("not-yet"));

    expect(await retry(flow, id)).toMatchObject({ status: 200, body: { id, status: "B" } });

    expect(await flow.send(id, "finish")).toMatchObject({ body: { status: "C" } });
  });

  test("and whoever waits for that parent; a retry of the outermost starts it for all", async () => {
    await app.publish(parent("early-middle", "late-child"), parent("early-top", "early-middle"));
    const flow = instancesOf(app, "early-top");
    const { id } = (await flow.start({})).body as { id: string };
    const middle = await childOf(app, id);
    expect(await statusOf(flow, id)).toBe("F inside");
    await app.publish(child("late-child"));

    const answer = await retry(flow, id);

    expect(answer).toMatchObject({ status: 200, body: { id: middle, status: "B" } });
    expect(await statusOf(flow, id)).toBe("B inside");
    expect(await flow.send(id, "finish")).toMatchObject({ body: { id, status: "C" } });
  });

  test("when its key is taken in the middle: those above wait again with a retry", async () => {
    await app.publish(parent("keyed-middle", "child"), parent("keyed-top", "keyed-middle"));
    const children = instancesOf(app, "child");
    const holder = await children.begin({ key: "TAKEN-2", attributes: {} });
    const flow = instancesOf(app, "keyed-top");
    const { id } = (await flow.start({ key: "TAKEN-2", attributes: {} })).body as { id: string };
    expect(await statusOf(flow, id)).toBe("F inside");
    await children.send(holder, "finish");

    await retry(flow, id);

    expect(await statusOf(flow, id)).toBe("B inside");
    expect(await incidentsOf(flow, id)).toMatchObject([{ isResolved: true }]);
  });

  test("when its input mapping fails", async () => {
    const mapping = between("if (!context.Instance.Data.fixed) throw new Error('no'); return {};");
    await app.publish(parent("bad-input", "child", { subFlow: { mapping } }));
    const flow = instancesOf(app, "bad-input");
    const { id } = (await flow.start({})).body as { id: string };
    expect(await incidentsOf(flow, id)).toMatchObject([{ errorCode: "Instance:100023" }]);

    expect(await retry(flow, id, fixed)).toMatchObject({ body: { id, status: "B" } });
  });

  test("when its schema refuses what it starts with; a retry starts it anew", async () => {
    const mapping = between("return { Data: { amount: context.Instance.Data.amount } };");
    await app.publish(
      child("strict").schema("amounts"),
      parent("of-strict", "strict", { subFlow: { mapping } }),
    );
    const flow = instancesOf(app, "of-strict");
    const { id } = (await flow.start({})).body as { id: string };

    const [incident] = await incidentsOf(flow, id);

    expect(incident).toMatchObject({ errorCode: "Instance:100023", isResolved: false });
    expect(await statusOf(flow, id)).toBe("F inside");
    expect(await retry(flow, id)).toMatchObject({ status: 200, body: { id, status: "F" } });
    expect(await incidentsOf(flow, id)).toHaveLength(2);
    const added = await retry(flow, id, { attributes: { amount: 3 } });
    expect(added).toMatchObject({ status: 200, body: { id, status: "B" } });
    expect((await instancesOf(app, "strict").read(await childOf(app, id))).attributes).toEqual({
      amount: 3,
    });
  });

  test("when its key is taken; when it is free again, a retry starts it", async () => {
    await app.publish(parent("keyed", "child"));
    const children = instancesOf(app, "child");
    const holder = await children.begin({ key: "TAKEN", attributes: {} });
    const flow = instancesOf(app, "keyed");
    const { id } = (await flow.start({ key: "TAKEN", attributes: {} })).body as { id: string };
    expect(await statusOf(flow, id)).toBe("F inside");
    await children.send(holder, "finish");

    const answer = await retry(flow, id);

    expect(answer).toMatchObject({
      body: { id, status: "B", retriedTransitionId: "00000000-0000-0000-0000-000000000000" },
    });
    expect(await flow.send(id, "finish")).toMatchObject({ body: { status: "C" } });
  });

  test("also when a timer of the state fails: a retry plans the child anew", async () => {
    const timer = slot(
      `import { TimerSchedule } from "millrace/script";
       export function Handler(context) {
         if (!context.Instance.Data.fixed) throw new Error('no time');
         return TimerSchedule.FromDuration("PT1H");
       }`,
    );
    await app.publish(
      aWorkflow("bad-timer")
        .state("first")
        .transition("down", { to: "inside", otherwise: true })
        .state("inside", inside("child"))
        .transition("late", { to: "after", timer })
        .transition("up", { to: "after", otherwise: true })
        .state("after", { type: "finish", subType: "success" }),
    );
    const flow = instancesOf(app, "bad-timer");
    const { id } = (await flow.start({})).body as { id: string };
    expect(await statusOf(flow, id)).toBe("F inside");
    expect(await childrenOf(app, id)).toEqual([]);

    expect(await retry(flow, id, fixed)).toMatchObject({ body: { id, status: "B" } });

    expect(await childrenOf(app, id)).toHaveLength(1);
    expect(await flow.send(id, "finish")).toMatchObject({ body: { status: "C" } });
  });
});

test("a parent whose definition is gone when its child ends is faulted, and a retry helps when it is back", async () => {
  const own = await startRuntime({ roles: ["api", "worker"] });
  const lost = parent("lost", "kept");
  await own.publish(aScriptTask("work"), child("kept"), lost);
  const flow = instancesOf(own, "lost");
  const children = instancesOf(own, "kept");
  const id = await flow.begin({});
  const below = await childOf(own, id);
  await rowsOf(own.databaseUrl, "delete from component where key = 'lost'");
  await own.get("/api/v1/definitions/re-initialize");

  expect(await children.send(below, "finish")).toMatchObject({
    status: 200,
    body: { status: "C" },
  });

  expect(
    await rowsOf(
      own.databaseUrl,
      "select status::text as status, has_active_incident as open from instance where id = $1",
      [id],
    ),
  ).toEqual([{ status: "F", open: true }]);
  expect(
    await rowsOf(own.databaseUrl, "select state, transition from incident where instance_id = $1", [
      id,
    ]),
  ).toEqual([{ state: "inside", transition: "$resume" }]);

  await own.publish(lost);
  const answer = await own.post(`${flow.path}/${id}/retry?sync=true`, {});

  expect(answer).toMatchObject({ status: 200, body: { id, status: "C" } });
});
