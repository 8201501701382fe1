import { describe, expect, test } from "vitest";
import {
  anInstance,
  answer,
  aRun,
  aStart,
  countingTools,
  programOf,
  runToEnd,
  settledRun,
  theMoment,
} from "../../../test/support/a-run.ts";
import { aWorkflow, hook, type WorkflowBuilder } from "../../../test/support/a-workflow.ts";
import { advance, longestChain } from "./advance.ts";
import { resumeWaiting } from "./resume-run.ts";
import type { Run } from "./run.ts";

const loan = aWorkflow("loan")
  .state("draft", { onEntries: hook("enter-draft"), onExits: hook("exit-draft") })
  .transition("submit", { to: "review", onExecutionTasks: hook(["a", "b"], "c") })
  .state("review", { onEntries: hook("enter-review"), onExits: hook("exit-review") })
  .transition("again", {})
  .transition("approve", { to: "done" })
  .transition("remind", { timer: "PT1H" })
  .state("done", { type: "finish", subType: "success", onEntries: hook("enter-done") })
  .cancel("withdraw", { to: "review" })
  .exit("leave", { to: "review" })
  .updateData("amend", { onExecutionTasks: hook("check") })
  .timeout("too-late", { to: "done", after: "P1D" });

const path = (run: Run) =>
  run.pending.records.map((r) => `${r.seq} ${r.transitionKey}: ${r.fromState}-${r.toState}`);

describe("the hooks of a hop run", () => {
  const program = programOf(loan);

  test("in the order execute, exit, entry, the state changing between the last two", () => {
    const { asked } = runToEnd(aRun({ program, transition: "submit" }));

    expect(asked).toEqual([
      "onExecute of submit in draft: a+b",
      "onExecute of submit in draft: c",
      "onExit of submit in draft: exit-draft",
      "onEntry of submit in review: enter-review",
      "timers remind",
    ]);
  });

  test("on a start without leaving the initial state", () => {
    const { asked } = runToEnd(aStart({ program }));

    expect(asked).toEqual(["onEntry of start in draft: enter-draft"]);
  });

  test("on $self as on any other transition: the state is left and entered", () => {
    const instance = anInstance(program, { at: "review" });
    const { asked } = runToEnd(aRun({ program, instance, transition: "again" }));

    expect(asked).toEqual([
      "onExit of again in review: exit-review",
      "onEntry of again in review: enter-review",
      "timers remind",
    ]);
  });

  test("on updateData only on execution; timers are left alone", () => {
    const instance = anInstance(program, { at: "review" });
    const { asked } = runToEnd(aRun({ program, instance, transition: "amend" }));

    expect(asked).toEqual(["onExecute of amend in review: check"]);
  });

  test("into a finish state too, and nothing after them", () => {
    const instance = anInstance(program, { at: "review" });
    const { asked } = runToEnd(aRun({ program, instance, transition: "approve" }));

    expect(asked).toEqual([
      "onExit of approve in review: exit-review",
      "onEntry of approve in done: enter-done",
    ]);
  });
});

describe("a settled run", () => {
  const plain = programOf(
    aWorkflow("loan")
      .state("draft")
      .transition("submit", { to: "review", versionStrategy: "Minor" })
      .state("review")
      .transition("approve", { to: "done" })
      .state("done", { type: "finish", subType: "success" }),
  );

  test("has moved the instance and closed its record with a snapshot", () => {
    const payload = { attributes: { amount: 12 }, stage: "KYC", tags: ["a", "a"] };
    const run = settledRun(aRun({ program: plain, transition: "submit", payload }));

    const review = { key: "review", type: "intermediate", subType: "none" };
    expect(run.instance).toMatchObject({
      status: "A",
      current: review,
      effective: review,
      data: { amount: 12 },
      dataVersion: "1.1.0",
      entityEtag: "ulid-1",
      stage: "KYC",
      tags: ["a"],
      lastSeq: 4,
      modifiedAt: theMoment,
      modifiedBy: { actor: "agent9", behalfOf: "cust1" },
    });
    expect(run.pending.records).toEqual([
      {
        seq: 4,
        id: "uuid-1",
        transitionKey: "submit",
        fromState: "draft",
        toState: "review",
        effective: review,
        stage: "KYC",
        trigger: "manual",
        startedAt: theMoment,
        finishedAt: theMoment,
        body: { amount: 12 },
        dataVersion: "1.1.0",
        entityEtag: "ulid-1",
        author: { actor: "agent9", behalfOf: "cust1" },
        headers: { host: "localhost" },
        idempotencyKey: undefined,
      },
    ]);
  });

  test("that brought nothing new has neither a new version nor a new tag", () => {
    const payload = { attributes: { amount: 10 } };
    const run = settledRun(aRun({ program: plain, transition: "submit", payload }));

    expect(run.instance).toMatchObject({ dataVersion: "1.0.0", entityEtag: "ulid-0" });
    expect(run.record).toMatchObject({ body: { amount: 10 }, dataVersion: undefined });
  });

  test("in a finish state is completed", () => {
    const instance = anInstance(plain, { at: "review" });
    const run = settledRun(aRun({ program: plain, instance, transition: "approve" }));

    expect(run.instance).toMatchObject({ status: "C", completedAt: theMoment });
  });

  test("keeps the stage it had when the caller sent a blank one", () => {
    const instance = anInstance(plain, { stage: "Old" });
    const payload = { stage: "  " };
    const run = settledRun(aRun({ program: plain, instance, transition: "submit", payload }));

    expect(run.instance.stage).toBe("Old");
    expect(run.record.stage).toBe("Old");
  });
});

describe("cancel and exit", () => {
  test.each(["cancel", "exit"])("%s completes the instance wherever it leads", (transition) => {
    const run = settledRun(aRun({ program: programOf(loan), transition }));

    expect(run.instance).toMatchObject({ status: "C", current: { key: "review" } });
    expect(run.pending.timers).toEqual([]);
  });
});

describe("the status at rest", () => {
  test.each<[string, string, (w: WorkflowBuilder) => WorkflowBuilder]>([
    ["a state without transitions", "A", (w) => w.state("b")],
    ["a manual transition", "A", (w) => w.state("b").transition("x", {})],
    ["only a timer", "A", (w) => w.state("b").transition("x", { timer: "PT1H" })],
    ["only rules that fail", "B", (w) => w.state("b").transition("x", { rule: "false" })],
    [
      "rules that fail beside a manual one",
      "A",
      (w) => w.state("b").transition("x", { rule: "false" }).transition("y", {}),
    ],
    ["the sub type busy", "B", (w) => w.state("b", { subType: "busy" }).transition("x", {})],
    ["the sub type human", "A", (w) => w.state("b", { subType: "human" }).transition("x", {})],
    ["a wizard", "A", (w) => w.state("b", { type: "wizard" }).transition("x", {})],
    ["a finish state", "C", (w) => w.state("b", { type: "finish" })],
  ])("with %s is %s", (_, status, build) => {
    const program = programOf(build(aWorkflow("w").state("a").transition("go", { to: "b" })));

    expect(settledRun(aRun({ program, transition: "go" })).instance.status).toBe(status);
  });
});

describe("automatic transitions", () => {
  const program = programOf(
    aWorkflow("loan")
      .state("draft")
      .transition("submit", { to: "scoring" })
      .state("scoring")
      .transition("else", { to: "refused", otherwise: true })
      .transition("small", { to: "granted", rule: "x" })
      .transition("large", { to: "review", rule: "x" })
      .transition("remind", { timer: "PT1H" })
      .state("review")
      .transition("approve", { to: "granted" })
      .state("granted", { type: "finish" })
      .state("refused", { type: "finish" })
      .updateData("amend"),
  );
  const submit = () =>
    aRun({ program, transition: "submit", payload: { stage: "S", tags: ["t"] } });

  test("are asked in the order of the definition, the default last", () => {
    expect(runToEnd(submit()).asked[0]).toBe("rules small, large, else");
  });

  test("are hops of their own, made by the system, with the caller's stage", () => {
    const run = settledRun(submit(), { rules: { large: true } });

    expect(path(run)).toEqual(["4 submit: draft-scoring", "5 large: scoring-review"]);
    expect(run.pending.records[1]).toMatchObject({
      trigger: "automatic",
      stage: "S",
      headers: undefined,
      body: undefined,
      author: { actor: "agent9" },
    });
    expect(run.instance).toMatchObject({ status: "A", lastSeq: 5, stage: "S", tags: ["t"] });
  });

  test("that win leave no timer behind in the state they pass through", () => {
    const { step, asked } = runToEnd(submit(), { rules: { small: true } });

    expect(asked).toEqual(["rules small, large, else"]);
    expect(step).toMatchObject({ run: { pending: { timers: [] }, instance: { status: "C" } } });
  });

  test("fall back to the default", () => {
    expect(path(settledRun(submit()))).toEqual([
      "4 submit: draft-scoring",
      "5 else: scoring-refused",
    ]);
  });

  test("follow updateData, which may free a parked instance", () => {
    const parked = programOf(
      aWorkflow("w")
        .state("a")
        .transition("x", { to: "b", rule: "x" })
        .state("b")
        .transition("y", {})
        .updateData("amend"),
    );
    const instance = anInstance(parked, { status: "B" });
    const amend = () => aRun({ program: parked, instance, transition: "amend" });

    expect(settledRun(amend()).instance).toMatchObject({ status: "B", current: { key: "a" } });
    expect(settledRun(amend(), { rules: { x: true } }).instance).toMatchObject({
      status: "A",
      current: { key: "b" },
    });
  });

  test("do not follow updateData where an instance is parked and another run moves it on", () => {
    const parked = programOf(
      aWorkflow("w")
        .state("a")
        .transition("x", { to: "b", otherwise: true })
        .state("b")
        .updateData("amend"),
    );
    const instance = anInstance(parked, { status: "B" });

    const run = settledRun(aRun({ program: parked, instance, transition: "amend" }), {
      isMoving: true,
    });

    expect(run.instance).toMatchObject({ status: "B", current: { key: "a" } });
  });

  test("do not follow updateData while another run is under way: that one will ask", () => {
    const waiting = programOf(
      aWorkflow("w")
        .state("a")
        .transition("x", { to: "b", rule: "x" })
        .transition("y", {})
        .state("b")
        .updateData("amend"),
    );
    const amend = (status: "A" | "B") =>
      runToEnd(
        aRun({ program: waiting, instance: anInstance(waiting, { status }), transition: "amend" }),
      );

    expect(amend("B")).toMatchObject({ asked: [], step: { run: { instance: { status: "B" } } } });
    expect(amend("A").asked).toEqual(["rules x"]);
  });

  test(`end in a fault when more than ${longestChain} follow each other`, () => {
    const circle = programOf(
      aWorkflow("w")
        .state("a")
        .transition("go", { to: "b", rule: "x" })
        .state("b")
        .transition("back", { to: "a", otherwise: true }),
    );
    const run = settledRun(aStart({ program: circle }), { rules: { go: true } });

    expect(run.pending.records).toHaveLength(longestChain);
    expect(run.instance).toMatchObject({ status: "F", hasActiveIncident: true, incidentCount: 1 });
    expect(run.pending.incidents[0]).toMatchObject({
      failure: { code: "Transition:100017", layer: "Pipeline" },
    });
  });
});

describe("timers", () => {
  const program = programOf(
    aWorkflow("w")
      .state("a")
      .transition("go", { to: "b" })
      .transition("tick", { to: "c", timer: "PT1H" })
      .state("b")
      .transition("back", { to: "a" })
      .transition("stay", {})
      .transition("tock", { to: "c", timer: "PT1H" })
      .state("c")
      .updateData("amend"),
  );

  test.each<[string, Run, object]>([
    [
      "of the state that is left go, those of the one that is entered come",
      aRun({ program, transition: "go" }),
      { leftStates: ["a"], timers: [{ sourceState: "b", transitionKey: "tock" }] },
    ],
    [
      "are armed anew on $self",
      aRun({ program, instance: anInstance(program, { at: "b" }), transition: "stay" }),
      { leftStates: ["b"], timers: [{ sourceState: "b", transitionKey: "tock" }] },
    ],
    [
      "stay as they are on updateData",
      aRun({ program, transition: "amend" }),
      { leftStates: [], timers: [] },
    ],
    [
      "are armed by a start, which has left nothing",
      aStart({ program }),
      { leftStates: [], timers: [{ sourceState: "a", transitionKey: "tick" }] },
    ],
  ])("%s", (_, run, pending) => {
    expect(settledRun(run).pending).toMatchObject(pending);
  });
});

describe("data", () => {
  const program = programOf(
    aWorkflow("w")
      .state("a")
      .transition("go", { to: "b", onExecutionTasks: hook(["one", "two"]) })
      .state("b"),
    (data) =>
      (data as { amount?: number }).amount === 13
        ? [{ path: "amount", keyword: "not", message: "must not be 13", schemaPath: "#" }]
        : [],
  );
  const go = (attributes: object) =>
    aRun({ program, transition: "go", payload: { attributes: attributes as never } });

  test("of a payload that the master schema rejects refuse the run as a whole", () => {
    expect(runToEnd(go({ amount: 13 })).step).toEqual({
      kind: "refused",
      errors: [expect.objectContaining({ path: "amount" })],
    });
  });

  test("of tasks are merged in the order of the definition, each a patch of its own", () => {
    const run = settledRun(go({ amount: 11 }), {
      tasks: () => ({
        kind: "tasksDone",
        outcomes: [
          { name: "one", response: { r: 1 }, data: { who: "one", only: 1 } },
          { name: "two", response: "text", data: { who: "two" } },
        ],
      }),
    });

    expect(run.instance).toMatchObject({
      data: { amount: 11, who: "two", only: 1 },
      dataVersion: "1.0.3",
      entityEtag: "ulid-3",
    });
    expect(run.pending.dataChanges).toEqual([
      {
        recordSeq: 4,
        index: 0,
        version: "1.0.2",
        entityEtag: "ulid-2",
        delta: { who: "one", only: 1 },
      },
      { recordSeq: 4, index: 1, version: "1.0.3", entityEtag: "ulid-3", delta: { who: "two" } },
    ]);
    expect(run.taskResponses).toEqual({ one: { r: 1 }, two: "text" });
    expect(run.body).toEqual({ amount: 11, r: 1 });
  });

  test("of a task that the master schema rejects fault the instance", () => {
    const run = settledRun(go({}), {
      tasks: () => ({
        kind: "tasksDone",
        outcomes: [{ name: "one", response: undefined, data: { amount: 13 } }],
      }),
    });

    expect(run.instance).toMatchObject({ status: "F", data: { amount: 10 } });
    expect(run.pending.incidents[0]?.failure).toMatchObject({ code: "App:900002", task: "one" });
  });
});

const failing = (task: string) => ({
  tasks: (keys: string[]) =>
    keys.includes(task)
      ? {
          kind: "failed" as const,
          failure: {
            code: `Task:Unknown:${task}`,
            layer: "Task" as const,
            message: "no",
            retryable: false,
          },
        }
      : { kind: "tasksDone" as const, outcomes: [] },
});

describe("a failure", () => {
  const program = programOf(loan);
  test.each([
    ["on execution leaves the instance where it was", "c", "draft"],
    ["on exit too", "exit-draft", "draft"],
    ["on entry leaves it in the new state", "enter-review", "review"],
  ])("%s", (_, task, state) => {
    const run = settledRun(aRun({ program, transition: "submit" }), failing(task));

    expect(run.instance).toMatchObject({ status: "F", current: { key: state } });
    expect(run.pending).toMatchObject({
      timers: [],
      incidents: [{ state, transition: "submit", failure: { code: `Task:Unknown:${task}` } }],
      records: [
        {
          transitionKey: "submit",
          toState: undefined,
          finishedAt: undefined,
          effective: undefined,
        },
      ],
    });
  });

  test("of the mapping faults before anything is merged", () => {
    const mapped = programOf(
      aWorkflow("w")
        .state("a")
        .transition("go", { to: "b", mapping: { encoding: "NAT", code: "x" } })
        .state("b"),
    );
    const run = settledRun(
      aRun({ program: mapped, transition: "go", payload: { attributes: { amount: 11 } } }),
      {
        mapped: {
          kind: "failed",
          failure: { code: "Task:400007", layer: "Pipeline", message: "no", retryable: false },
        },
      },
    );

    expect(run.instance).toMatchObject({ status: "F", data: { amount: 10 } });
  });
});

test("a mapping decides what is merged and recorded", () => {
  const program = programOf(
    aWorkflow("w")
      .state("a")
      .transition("go", { to: "b", mapping: { encoding: "NAT", code: "x" } })
      .state("b"),
  );
  const run = settledRun(
    aRun({ program, transition: "go", payload: { attributes: { raw: true } } }),
    { mapped: { kind: "mapped", value: { amount: 77 } } },
  );

  expect(run.instance.data).toEqual({ amount: 77 });
  expect(run.record.body).toEqual({ amount: 77 });
});

describe("a state with a subflow or subprocess", () => {
  const process = { key: "check", domain: "core", flow: "sys-flows", version: "1.0.0" };
  const opening = (type: "S" | "P") => ({
    type: "subFlow" as const,
    subFlow: { type, process, mapping: { type: "G" } },
  });
  const program = programOf(
    aWorkflow("order")
      .state("open")
      .transition("go", { to: "one" })
      .transition("wait", { to: "waiting" })
      .state("one", opening("P"))
      .transition("next", { to: "two", otherwise: true })
      .state("two", opening("P"))
      .transition("next", { to: "rest", rule: "true" })
      .transition("again", {})
      .state("waiting", opening("S"))
      .transition("late", { to: "rest", timer: "PT1H" })
      .state("rest"),
  );
  const failed = {
    kind: "failed",
    failure: { code: "Task:400007", layer: "Pipeline", message: "broken", retryable: false },
  } as const;

  /** Goes on until it asks for `kind`; that one fails. */
  function failAt(transition: string, kind: string): Run {
    const tools = countingTools();
    let step = advance(aRun({ program, transition, tools }), { kind: "begun" }, tools);
    while (step.kind === "waiting" && step.todo.kind !== kind) {
      step = advance(step.run, answer(step.run, step.todo, {}), tools);
    }
    if (step.kind !== "waiting") throw new Error(`the run is ${step.kind}`);
    const end = advance(step.run, failed, tools);
    if (end.kind !== "settled") throw new Error(`the run is ${end.kind}`);
    return end.run;
  }

  test("starts a subprocess in every such state it passes through", () => {
    const { asked } = runToEnd(aRun({ program, transition: "go" }));
    const { pending } = settledRun(aRun({ program, transition: "go" }));

    expect(asked).toEqual(["subflow check", "subflow check", "rules next"]);
    expect(pending.children).toHaveLength(2);
  });

  test("keeps the subprocesses of states it has entered when something fails after them", () => {
    const { instance, pending } = failAt("go", "rules");

    expect(instance.status).toBe("F");
    expect(pending.children).toHaveLength(2);
    expect(pending.incidents[0]?.checkpoint).toMatchObject({ phase: "auto" });
  });

  test("forgets a subflow that was only planned when something fails after it", () => {
    const { instance, pending } = failAt("wait", "timers");

    expect(instance).toMatchObject({ status: "F", openChild: undefined });
    expect(pending.children).toEqual([]);
    expect(pending.incidents[0]?.checkpoint).toMatchObject({ phase: "subflow" });
  });
});

describe("after the caller's poll was answered", () => {
  const program = programOf(
    aWorkflow("poll").state("open").transition("late", { timer: "PT1H" }).transition("on", {}),
  );

  test("the timers of the state are set", () => {
    const instance = anInstance(program, { status: "B" });
    const author = { actor: "agent9", behalfOf: undefined };
    const waiting = { program, instance, phase: "auto", author, headers: {}, roles: [] } as const;

    const settled = settledRun(resumeWaiting(waiting, countingTools()));

    expect(settled.instance.status).toBe("A");
    expect(settled.pending.timers).toMatchObject([{ transitionKey: "late" }]);
  });
});

describe("an update of the data", () => {
  const program = programOf(
    aWorkflow("order").state("open").transition("on", {}).updateData("amend"),
  );
  const instance = anInstance(program, { status: "B" });

  test("leaves the status of others' runs alone", () => {
    const run = aRun({ program, instance, transition: "amend" });

    expect(settledRun(run).instance.status).toBe("B");
  });

  test("that goes on after its own fault brings the instance to rest", () => {
    const run = { ...aRun({ program, instance, transition: "amend" }), isRetry: true };

    expect(settledRun(run).instance.status).toBe("A");
  });
});

test("an output that the schema refuses is the business of its own task's boundary", () => {
  const [task] = hook("b");
  const ignoring = { ...task, errorBoundary: { onError: [{ action: "ignore" }] } };
  const program = programOf(
    aWorkflow("order")
      .state("open")
      .transition("go", { to: "done", onExecutionTasks: [ignoring] })
      .state("done"),
    () => [{ path: "/amount", message: "must be a number" }] as never,
  );
  const outcomes = [{ name: "b", response: undefined, data: { amount: "many" } }];

  const { instance } = settledRun(aRun({ program, transition: "go" }), {
    tasks: () => ({ kind: "tasksDone", outcomes }),
  });

  expect(instance).toMatchObject({ status: "A", current: { key: "done" }, data: { amount: 10 } });
});
