/** One state of a workflow. */
import { checkErrorBoundary } from "./check-error-boundary.ts";
import { checkLabels, checkVersionStrategy } from "./check-labels.ts";
import { checkInteraction } from "./check-long-poll.ts";
import { checkRoles } from "./check-roles.ts";
import { checkScriptCode } from "./check-script-code.ts";
import { checkSlot, viewSlot } from "./check-slot.ts";
import { checkSubFlow } from "./check-subflow.ts";
import { checkTaskBindings } from "./check-task-binding.ts";
import { checkTransition } from "./check-transition.ts";
import { checkUniqueKeys } from "./check-unique-keys.ts";
import { stateType, triggerKind } from "./enumerations.ts";
import { at, type Report } from "./findings.ts";
import { asList, asObject, isPresent, type JsonObject } from "./json.ts";
import type { WorkflowFacts } from "./workflow-facts.ts";

export function checkState(
  report: Report,
  path: string,
  value: unknown,
  workflow: WorkflowFacts,
): void {
  const state = asObject(value);
  if (state === undefined) return;
  checkLabels(report, path, state);
  checkVersionStrategy(report, path, state);
  checkByType(report, path, state);
  checkTransitions(report, at(path, "transitions"), state["transitions"], workflow);
  checkParts(report, path, state, workflow);
}

function checkByType(report: Report, path: string, state: JsonObject): void {
  const type = stateType.read(state["stateType"]);
  const transitions = asList(state["transitions"]).length;
  if (type === "subFlow" && !isPresent(state["subFlow"])) {
    report.mistake(
      at(path, "subFlow"),
      "A state of type 4 (subFlow) needs a 'subFlow' that names the workflow to run.",
    );
  }
  if (type !== undefined && type !== "subFlow" && isPresent(state["subFlow"])) {
    report.warning(
      at(path, "subFlow"),
      "'subFlow' has no effect in a state that is not of type 4 (subFlow).",
    );
  }
  if (type === "wizard" && transitions > 1) {
    report.mistake(
      at(path, "transitions"),
      `A wizard state has at most one transition; it has ${transitions}.`,
    );
  }
  if (type === "finish" && transitions > 0) {
    report.warning(
      at(path, "transitions"),
      "A finish state ends the instance; its transitions are never taken.",
    );
  }
}

function checkTransitions(
  report: Report,
  path: string,
  value: unknown,
  workflow: WorkflowFacts,
): void {
  const transitions = asList(value);
  for (const [i, transition] of transitions.entries()) {
    checkTransition(report, at(path, i), transition, "state", workflow);
  }
  checkUniqueKeys(report, path, transitions, "transition", "state");
  const defaults = transitions.flatMap((item, i) =>
    triggerKind.read(asObject(item)?.["triggerKind"]) === "default" ? [i] : [],
  );
  for (const i of defaults.slice(1)) {
    report.mistake(
      at(path, i, "triggerKind"),
      "The state has a default transition (triggerKind 10) already; it can have one.",
    );
  }
}

function checkParts(
  report: Report,
  path: string,
  state: JsonObject,
  workflow: WorkflowFacts,
): void {
  const { transitionKeys } = workflow;
  checkSlot(report, at(path, "view"), state["view"], viewSlot);
  checkSlot(report, at(path, "views"), state["views"], viewSlot);
  checkTaskBindings(report, at(path, "onEntries"), state["onEntries"], transitionKeys);
  checkTaskBindings(report, at(path, "onExits"), state["onExits"], transitionKeys);
  checkSubFlow(report, at(path, "subFlow"), state["subFlow"]);
  checkErrorBoundary(report, at(path, "errorBoundary"), state["errorBoundary"], transitionKeys);
  checkRoles(report, at(path, "queryRoles"), state["queryRoles"]);
  checkInteraction(report, at(path, "interaction"), state["interaction"]);
  for (const [i, item] of asList(state["alias"]).entries()) {
    const alias = asObject(item);
    if (alias !== undefined) checkAlias(report, at(path, "alias", i), alias);
  }
  for (const [i, item] of asList(state["notifications"]).entries()) {
    const place = at(path, "notifications", i);
    checkScriptCode(report, at(place, "mapping"), asObject(item)?.["mapping"]);
    checkScriptCode(report, at(place, "rule"), asObject(item)?.["rule"], "code");
  }
}

function checkAlias(report: Report, path: string, alias: JsonObject): void {
  checkRoles(report, at(path, "roles"), alias["roles"]);
  if (Array.isArray(alias["roles"]) && alias["roles"].length === 0) {
    report.mistake(at(path, "roles"), "An alias is for some roles; list at least one.");
  }
  if (asList(alias["labels"]).length === 0) {
    report.warning(at(path, "labels"), "'labels' is missing; the default is the alias's name.");
  }
}
