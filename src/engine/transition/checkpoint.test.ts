import { describe, expect, test } from "vitest";
import { aRun, aStart, countingTools, programOf } from "../../../test/support/a-run.ts";
import { aWorkflow, hook } from "../../../test/support/a-workflow.ts";
import { ExactNumber, parseJson, stringifyJson, type JsonObject } from "../exact-json.ts";
import { advance } from "./advance.ts";
import type { Advance, Happened } from "./happenings.ts";
import { checkpointOf, findTransition, requestOf, resumeRun } from "./checkpoint.ts";
import { noPayload, nothingPending, type HopKind, type Run } from "./run.ts";

const program = programOf(
  aWorkflow("loan")
    .state("draft")
    .transition("submit", { to: "scoring", onExecutionTasks: hook("a", "b") })
    .state("scoring", { onEntries: hook("c") })
    .transition("else", { to: "review", otherwise: true, onExecutionTasks: hook("d") })
    .state("review")
    .transition("approve", { to: "done" })
    .state("done", { type: "finish" })
    .shared("note", { onExecutionTasks: hook("n") })
    .cancel("withdraw", { to: "done" })
    .exit("leave", { to: "done" })
    .updateData("amend")
    .timeout("too-late", { to: "done", after: "P1D" }),
);

const done = (key: string): Happened => ({
  kind: "tasksDone",
  outcomes: [{ name: key, response: { [key]: new ExactNumber("0.10") }, data: { [key]: 1 } }],
});

const runIn = (step: Advance): Run => {
  if (step.kind === "refused") throw new Error("refused");
  return step.run;
};

/** To disk and back: what was pending is written, the rest is JSON text. */
function restart(run: Run): Run {
  const text = stringifyJson({ request: requestOf(run), checkpoint: checkpointOf(run) });
  const { request, checkpoint } = parseJson(text) as unknown as {
    request: ReturnType<typeof requestOf>;
    checkpoint: JsonObject;
  };
  return resumeRun(program, run.instance, request, checkpoint);
}

describe("a run that goes on from its checkpoint", () => {
  test.each([0, 1, 2, 3])("after task %i ends like one that was never interrupted", (stopAt) => {
    const payload = { attributes: { amount: new ExactNumber("9007199254740993") }, stage: "KYC" };
    const end = (interrupt: boolean) => {
      const tools = countingTools();
      const run = aRun({ program, transition: "submit", payload, tools });
      let step = advance(run, { kind: "begun" }, tools);
      const written: Run["pending"][] = [];
      for (const [i, task] of ["a", "b", "c", "d"].entries()) {
        let current = runIn(step);
        if (interrupt && i === stopAt) {
          written.push(current.pending);
          current = restart(current);
        }
        step = advance(current, done(task), tools);
      }
      const last = runIn(step);
      written.push(last.pending);
      return {
        instance: last.instance,
        body: last.body,
        records: written.flatMap((pending) => pending.records),
        changes: written.flatMap((pending) => pending.dataChanges),
      };
    };

    expect(end(true)).toEqual(end(false));
  });

  test("has nothing pending: that is on disk already", () => {
    const waiting = runIn(
      advance(aRun({ program, transition: "submit" }), { kind: "begun" }, countingTools()),
    );

    expect(restart(waiting).pending).toEqual(nothingPending);
  });

  test("in a later hop does not see the first one's payload again", () => {
    const tools = countingTools();
    const payload = { attributes: { amount: 1 }, tags: ["t"], stage: "S" };
    let step = advance(aRun({ program, transition: "submit", payload }), { kind: "begun" }, tools);
    for (const task of ["a", "b", "c"]) step = advance(runIn(step), done(task), tools);
    const later = runIn(step);
    const request = requestOf(aRun({ program, transition: "submit", payload }));

    expect(later.hop.transition.key).toBe("else");
    expect(resumeRun(program, later.instance, request, checkpointOf(later)).payload).toEqual(
      noPayload,
    );
  });

  test("keeps headers and idempotency key for the record of the first hop only", () => {
    const first = { ...aStart({ program }), idempotencyKey: "k" };
    const withKey = { ...first, record: { ...first.record, idempotencyKey: "k" } };

    expect(restart(withKey).record).toMatchObject({
      headers: { host: "localhost" },
      idempotencyKey: "k",
    });
    expect(
      restart({ ...withKey, record: { ...withKey.record, headers: undefined } }).record.headers,
    ).toBeUndefined();
  });
});

describe("the transition of a stored run is found", () => {
  test.each<[HopKind, string, string, string]>([
    ["start", "start", "draft", "start"],
    ["state", "approve", "review", "approve"],
    ["shared", "note", "review", "note"],
    ["cancel", "withdraw", "review", "withdraw"],
    ["exit", "leave", "review", "leave"],
    ["updateData", "amend", "review", "amend"],
    ["timeout", "too-late", "review", "too-late"],
  ])("for %s", (kind, transitionKey, from, key) => {
    expect(findTransition(program.workflow, { kind, transitionKey, from }).key).toBe(key);
  });

  test("or told to be missing, with the workflow's version", () => {
    expect(() =>
      findTransition(program.workflow, { kind: "state", transitionKey: "gone", from: "draft" }),
    ).toThrow("transition 'gone' is not in loan 1.0.0");
  });
});
