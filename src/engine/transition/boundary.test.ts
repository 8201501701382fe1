import { describe, expect, test } from "vitest";
import { aRun, programOf } from "../../../test/support/a-run.ts";
import { taskWith } from "../../../test/support/a-script-slot.ts";
import { aWorkflow, type StateOptions } from "../../../test/support/a-workflow.ts";
import { normaliseErrorBoundary } from "../definition/normalise-parts.ts";
import type { RetryPolicy } from "../definition/model.ts";
import type { TaskFailure } from "../task-failure.ts";
import { backoff, boundariesOf, decideBoundary, retryDelay } from "./boundary.ts";

const failure: TaskFailure = {
  code: "Task:Http:503",
  layer: "Task",
  message: "Task 'charge' failed",
  task: "charge",
  taskType: "Http",
  statusCode: 503,
  errorType: "System.Net.Http.HttpRequestException",
  retryable: true,
};

const policy = { initialDelay: "PT1S", maxRetries: 2, backoffType: "fixed", useJitter: false };

/** Rules are told apart by the transition they name. */
const rule = (transition: string, more: object = {}) => ({
  action: "rollback",
  transition,
  ...more,
});

const decide = (rules: object[], failed: TaskFailure = failure) =>
  decideBoundary([{ level: "State", boundary: normaliseErrorBoundary({ onError: rules }) }], failed)
    ?.rule.transition;

describe("a rule is for", () => {
  test.each<[string, object, boolean]>([
    ["everything when it names nothing", {}, true],
    ["everything by errorTypes *", { errorTypes: ["*"] }, true],
    ["everything by errorCodes *", { errorCodes: ["*"] }, true],
    ["its error type", { errorTypes: ["System.Net.Http.HttpRequestException"] }, true],
    ["the end of its error type", { errorTypes: ["HttpRequestException"] }, true],
    ["its error type in any letter case", { errorTypes: ["httprequestEXCEPTION"] }, true],
    ["not the beginning of its error type", { errorTypes: ["System.Net"] }, false],
    ["no other error type", { errorTypes: ["TaskCanceledException"] }, false],
    ["its error code", { errorCodes: ["Task:Http:503"] }, true],
    ["its error code in any letter case", { errorCodes: ["task:http:503"] }, true],
    ["its HTTP status", { errorCodes: ["503"] }, true],
    ["its HTTP status as a number", { errorCodes: [503] }, true],
    ["its task", { errorCodes: ["Task:Http:charge"] }, true],
    ["its task with the status", { errorCodes: ["Task:Http:charge:503"] }, true],
    ["no part of its error code", { errorCodes: ["Task:Http"] }, false],
    ["no other status", { errorCodes: ["502"] }, false],
    ["one of several", { errorCodes: ["502", "503"] }, true],
    [
      "its type, though not its code",
      { errorTypes: ["HttpRequestException"], errorCodes: ["1"] },
      true,
    ],
    ["its code, though not its type", { errorTypes: ["Other"], errorCodes: ["503"] }, true],
    ["neither", { errorTypes: ["Other"], errorCodes: ["1"] }, false],
  ])("%s", (_, names, expected) => {
    expect(decide([rule("taken", names)])).toBe(expected ? "taken" : undefined);
  });

  test("an error without a type or a status only by its code, or as one of all", () => {
    const bare: TaskFailure = { code: "Task:400008", layer: "Task", message: "", retryable: false };

    expect(decide([rule("taken", { errorTypes: ["Exception"] })], bare)).toBeUndefined();
    expect(decide([rule("taken", { errorCodes: ["Task:400008"] })], bare)).toBe("taken");
    expect(decide([rule("taken")], bare)).toBe("taken");
  });
});

describe("of several rules that match", () => {
  const exact = { errorCodes: ["503"] };

  test.each<[string, object[], string]>([
    [
      "the lower priority number",
      [rule("b", { ...exact, priority: 20 }), rule("a", { ...exact, priority: 10 })],
      "a",
    ],
    ["a named error before every error", [rule("b"), rule("a", exact)], "a"],
    ["a named error before *", [rule("b", { errorCodes: ["*"] }), rule("a", exact)], "a"],
    [
      "every error with a priority of its own before a named one",
      [rule("a", { priority: 5 }), rule("b", exact)],
      "a",
    ],
    [
      "every error at 101 before every error that names no priority",
      [rule("b"), rule("a", { priority: 101 })],
      "a",
    ],
    ["the one that names more", [rule("b", exact), rule("a", { errorCodes: ["503", "502"] })], "a"],
    [
      "types and codes counted together",
      [
        rule("b", { errorCodes: ["503", "502"] }),
        rule("a", { errorCodes: ["503"], errorTypes: ["X", "Y"] }),
      ],
      "a",
    ],
    ["the first declared", [rule("a", exact), rule("b", exact)], "a"],
  ])("%s decides", (_, rules, expected) => {
    expect(decide(rules)).toBe(expected);
  });
});

describe("of several levels", () => {
  const boundary = (...rules: object[]) => ({ errorBoundary: { onError: rules } });
  const levelOf = (task: object, state: StateOptions, workflow: object) => {
    const flow = aWorkflow("loan")
      .state("draft", state)
      .transition("go", { to: "done", onExecutionTasks: [{ ...taskWith("charge", {}), ...task }] })
      .state("done")
      .with(workflow);
    const run = aRun({ program: programOf(flow), transition: "go" });
    const [binding] = run.hop.transition.onExecutionTasks[0]!.tasks;
    const decision = decideBoundary(boundariesOf(run, binding), failure);
    return decision === undefined ? "none" : `${decision.level} ${decision.rule.transition}`;
  };
  const [task, state, workflow] = ["t", "s", "w"].map((name) => boundary(rule(name)));
  const other = boundary(rule("x", { errorCodes: ["404"] }));
  const none = {};
  const empty = boundary();

  test.each([
    [task, state, workflow, "Task t"],
    [none, state, workflow, "State s"],
    [none, none, workflow, "Global w"],
    [none, none, none, "none"],
    [other, state, workflow, "State s"],
    [other, other, workflow, "Global w"],
    [other, other, other, "none"],
    [empty, empty, workflow, "Global w"],
    [boundary(rule("t", { priority: 999 })), boundary(rule("s", { priority: 1 })), none, "Task t"],
  ])("the innermost with a match decides (%#)", (inner, middle, outer, expected) => {
    expect(levelOf(inner!, { ...middle }, outer!)).toBe(expected);
  });
});

describe("a retry", () => {
  const delayAfter = (rules: object[], retries: number, failed: TaskFailure = failure) => {
    const flow = aWorkflow("loan")
      .state("draft")
      .transition("go", {
        onExecutionTasks: [{ ...taskWith("charge", {}), errorBoundary: { onError: rules } }],
      });
    const run = aRun({ program: programOf(flow), transition: "go" });
    const [binding] = run.hop.transition.onExecutionTasks[0]!.tasks;
    return retryDelay(run, binding!, failed, retries, () => 0.5);
  };
  const retry = { action: "retry", retryPolicy: policy };

  test("is made as often as the policy says, after the first attempt", () => {
    expect([0, 1, 2, 3].map((made) => delayAfter([retry], made))).toEqual([
      1000,
      1000,
      undefined,
      undefined,
    ]);
  });

  test("is not made when a rule before it says something else", () => {
    const rules = [rule("out", { errorCodes: ["503"] }), retry];

    expect(delayAfter(rules, 0)).toBeUndefined();
    expect(delayAfter(rules, 0, { ...failure, statusCode: 500, code: "Task:Http:500" })).toBe(1000);
  });

  test("is not made with a policy of none", () => {
    expect(delayAfter([{ action: "retry", retryPolicy: { ...policy, maxRetries: 0 } }], 0)).toBe(
      undefined,
    );
  });
});

describe("the wait before a retry", () => {
  const given = (change: Partial<RetryPolicy>): RetryPolicy => ({
    initialDelayMs: 1000,
    maxRetries: 10,
    backoffType: "exponential",
    backoffMultiplier: 2,
    maxDelayMs: 60_000,
    useJitter: false,
    ...change,
  });
  const waits = (change: Partial<RetryPolicy>, dice = 0.5) =>
    [0, 1, 2, 3].map((made) => backoff(given(change), made, () => dice));

  test.each<[string, Partial<RetryPolicy>, number[]]>([
    ["fixed", { backoffType: "fixed" }, [1000, 1000, 1000, 1000]],
    ["exponential", {}, [1000, 2000, 4000, 8000]],
    ["exponential by another factor", { backoffMultiplier: 1.5 }, [1000, 1500, 2250, 3375]],
    ["capped", { maxDelayMs: 3000 }, [1000, 2000, 3000, 3000]],
    [
      "a factor beyond all numbers, capped",
      { backoffMultiplier: 1e200 },
      [1000, 60_000, 60_000, 60_000],
    ],
  ])("is %s", (_, change, expected) => {
    expect(waits(change)).toEqual(expected);
  });

  test("is a quarter longer or shorter with jitter, and never outside", () => {
    const spread = [0, 0.25, 0.5, 0.75, 1].map((dice) => waits({ useJitter: true }, dice)[1]);

    expect(spread).toEqual([1500, 1750, 2000, 2250, 2500]);
  });

  test("is as the definition's defaults say when it names nothing", () => {
    const [only] = normaliseErrorBoundary({
      onError: [{ action: "retry", retryPolicy: {} }],
    })!.onError;

    expect(only!.retryPolicy).toEqual({
      initialDelayMs: 1000,
      maxRetries: 3,
      backoffType: "exponential",
      backoffMultiplier: 2,
      maxDelayMs: 300_000,
      useJitter: true,
    });
  });
});
