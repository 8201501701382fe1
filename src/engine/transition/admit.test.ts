import { describe, expect, test } from "vitest";
import { anInstance, programOf } from "../../../test/support/a-run.ts";
import { aWorkflow } from "../../../test/support/a-workflow.ts";
import { Problem } from "../problem.ts";
import type { InstanceStatus } from "../instance.ts";
import { admit, type Actor } from "./admit.ts";

const bare = aWorkflow("loan")
  .state("draft")
  .transition("submit", { to: "review" })
  .transition("remind", { timer: "PT1H" })
  .transition("jump", { to: "done", rule: "true" })
  .transition("callback", {
    to: "review",
    triggerType: "event",
    event: { mapping: { encoding: "NAT", code: "x" } },
  })
  .state("review", { subType: "busy" })
  .transition("approve", { to: "done" })
  .transition("expire", { to: "done", timer: "PT1H" })
  .state("done", { type: "finish" })
  .shared("note")
  .shared("approve-all", { to: "done", availableIn: ["review"] });

const full = bare
  .cancel("withdraw", { to: "done" })
  .exit("leave", { to: "done", availableIn: ["review"] })
  .updateData("amend")
  .timeout("too-late", { to: "done", after: "P1D" });

interface Case {
  /** Of the transition; `configured` says whether the workflow has cancel, exit, … */
  key: string;
  at?: string;
  status?: InstanceStatus;
  actor?: Actor;
  configured?: boolean;
}

function outcome({ key, at = "draft", status = "A", actor = "user", configured = true }: Case) {
  const program = programOf(configured ? full : bare);
  const admitted = admit(program.workflow, anInstance(program, { at, status }), key, actor);
  return admitted instanceof Problem
    ? `${admitted.status} ${admitted.errorCode}`
    : `${admitted.kind} ${admitted.transition.key} ${admitted.trigger}`;
}

describe("a caller may send", () => {
  test.each<[string, Case, string]>([
    ["a transition of the state", { key: "submit" }, "state submit manual"],
    ["an event's transition", { key: "callback" }, "state callback event"],
    ["a shared one everywhere", { key: "note", at: "review" }, "shared note manual"],
    ["a shared one where it is", { key: "approve-all", at: "review" }, "shared approve-all manual"],
    ["cancel by its key", { key: "withdraw" }, "cancel withdraw manual"],
    ["cancel by its alias", { key: "cancel" }, "cancel withdraw manual"],
    ["an alias in any case", { key: "CanCel" }, "cancel withdraw manual"],
    ["a configured key in any case", { key: "WITHDRAW" }, "cancel withdraw manual"],
    ["exit where it is available", { key: "Exit", at: "review" }, "exit leave manual"],
    ["updateData", { key: "update-parent-data" }, "updateData amend manual"],
    ["cancel to a Busy instance", { key: "cancel", status: "B" }, "cancel withdraw manual"],
    ["updateData to a Busy one", { key: "amend", status: "B" }, "updateData amend manual"],
    ["exit to a Busy one", { key: "exit", status: "B", at: "review" }, "exit leave manual"],
  ])("%s", (_, given, expected) => {
    expect(outcome(given)).toBe(expected);
  });
});

describe("the system may send", () => {
  test.each<[string, Case, string]>([
    ["a timer", { key: "remind", actor: "system" }, "state remind scheduled"],
    ["the timeout", { key: "$timeout", actor: "system" }, "timeout too-late scheduled"],
    [
      "the timeout to a Busy instance",
      { key: "$timeout", actor: "system", status: "B" },
      "timeout too-late scheduled",
    ],
    [
      "a timer in a busy state, where the instance is always Busy",
      { key: "expire", actor: "system", at: "review", status: "B" },
      "state expire scheduled",
    ],
  ])("%s", (_, given, expected) => {
    expect(outcome(given)).toBe(expected);
  });
});

describe("refused is", () => {
  test.each<[string, Case, string]>([
    ["everything to a Completed instance", { key: "submit", status: "C" }, terminal()],
    ["everything to a Faulted instance", { key: "cancel", status: "F" }, terminal()],
    ["everything to a Passive instance", { key: "amend", status: "P" }, terminal()],
    ["a transition to a Busy instance", { key: "submit", status: "B" }, busy()],
    ["a shared one to a Busy instance", { key: "note", status: "B" }, busy()],
    ["an unknown one to a Busy instance", { key: "nothing", status: "B" }, busy()],
    ["an automatic one", { key: "jump" }, "403 validation.Transition:100010"],
    ["a timer sent by a caller", { key: "remind" }, "403 validation.Transition:100010"],
    ["the timeout sent by a caller", { key: "$timeout" }, "403 validation.Transition:100010"],
    ["one of another state", { key: "approve" }, "400 validation.Transition:100020"],
    ["a key in another case", { key: "Submit" }, "404 notfound.Transition:100004"],
    ["a key nobody knows", { key: "nothing" }, "404 notfound.Transition:100004"],
    ["a shared one elsewhere", { key: "approve-all" }, "400 validation.Transition:100021"],
    ["the start", { key: "start" }, "400 validation.Transition:100022"],
    ["exit elsewhere", { key: "exit" }, "400 validation.Transition:100024"],
    ["cancel without one", { key: "cancel", configured: false }, "400 validation.Instance:100016"],
    [
      "updateData without one",
      { key: "Update-Parent-Data", configured: false },
      "400 validation.Instance:100024",
    ],
    ["exit without one", { key: "EXIT", configured: false }, "400 validation.Instance:100026"],
    [
      "cancel without one, also when Busy: it would not have waited",
      { key: "cancel", configured: false, status: "B" },
      "400 validation.Instance:100016",
    ],
    [
      "the timeout without one",
      { key: "$timeout", configured: false },
      "404 notfound.Transition:100004",
    ],
  ])("%s", (_, given, expected) => {
    expect(outcome(given)).toBe(expected);
  });
});

function terminal() {
  return "400 validation.Instance:100018";
}

function busy() {
  return "409 conflict.Instance:100031";
}
