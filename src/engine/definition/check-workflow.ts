/** The attributes of a workflow (`sys-flows`). */
import { ComponentKind } from "../component-kind.ts";
import { checkDuration, checkErrorBoundary } from "./check-error-boundary.ts";
import { checkLabels, checkVersionStrategy } from "./check-labels.ts";
import { checkReachability } from "./check-reachability.ts";
import { checkReferences } from "./check-reference.ts";
import { checkRoles } from "./check-roles.ts";
import { checkScriptCode, checkScripts } from "./check-script-code.ts";
import { checkSlot, schemaSlot } from "./check-slot.ts";
import { checkState } from "./check-state.ts";
import { checkEvent, checkTarget, checkTransition } from "./check-transition.ts";
import { checkUniqueKeys } from "./check-unique-keys.ts";
import { at, type Report } from "./findings.ts";
import { asList, asObject, asText, enumerate, isPresent, type JsonObject, show } from "./json.ts";
import { factsOf, selfTarget, wellKnownTransitions, type WorkflowFacts } from "./workflow-facts.ts";

export function checkWorkflow(outer: Report, path: string, attributes: JsonObject): void {
  const report = namingThePlace(outer, path, attributes);
  const workflow = factsOf(attributes);
  checkLabels(report, path, attributes);
  checkStates(report, path, attributes, workflow);
  checkStart(report, at(path, "startTransition"), attributes["startTransition"], workflow);
  checkShared(report, at(path, "sharedTransitions"), attributes["sharedTransitions"], workflow);
  checkWellKnown(report, path, attributes, workflow);
  checkTimeout(report, at(path, "timeout"), attributes["timeout"], workflow);
  checkParts(report, path, attributes, workflow);
  checkReachability(report, path, attributes, workflow);
}

/**
 * A path says `states[7]`, a person thinks of "review": every message about a state or a
 * transition names it.
 */
export function namingThePlace(report: Report, path: string, attributes: JsonObject): Report {
  const name = (finding: string, message: string): string => {
    const place = placeOf(finding.slice(path.length + 1), attributes);
    return place === "" ? message : `${place}: ${message}`;
  };
  return {
    lenient: report.lenient,
    domain: report.domain,
    mistake: (finding, message) => report.mistake(finding, name(finding, message)),
    warning: (finding, message) => report.warning(finding, name(finding, message)),
  };
}

const statePlace = /^states\[(\d+)\](?:\.transitions\[(\d+)\])?/;
const sharedPlace = /^sharedTransitions\[(\d+)\]/;

function placeOf(path: string, attributes: JsonObject): string {
  const inState = statePlace.exec(path);
  if (inState !== null) {
    const state = asObject(asList(attributes["states"])[Number(inState[1])]);
    const transitions = asList(state?.["transitions"]);
    const transition = inState[2] === undefined ? undefined : transitions[Number(inState[2])];
    return [keyed("State", state), keyed("transition", transition)].filter(Boolean).join(", ");
  }
  const inShared = sharedPlace.exec(path);
  if (inShared === null) return "";
  const shared = asList(attributes["sharedTransitions"])[Number(inShared[1])];
  return keyed("Shared transition", shared) ?? "";
}

function keyed(noun: string, value: unknown): string | undefined {
  const key = asText(asObject(value)?.["key"]);
  return key === undefined ? undefined : `${noun} ${show(key)}`;
}

function checkStates(
  report: Report,
  path: string,
  attributes: JsonObject,
  workflow: WorkflowFacts,
): void {
  const states = asList(attributes["states"]);
  for (const [i, state] of states.entries()) {
    checkState(report, at(path, "states", i), state, workflow);
  }
  checkUniqueKeys(report, at(path, "states"), states, "state", "workflow");
  const { initialCount, initialKeys } = workflow;
  // An empty or missing list has its own message.
  if (states.length > 0 && initialCount !== 1) {
    report.mistake(
      at(path, "states"),
      initialCount === 0
        ? "A workflow needs exactly one initial state (stateType 1); it has none."
        : `A workflow needs exactly one initial state (stateType 1); it has ${initialCount}: ${enumerate(initialKeys)}.`,
    );
  }
}

function checkStart(report: Report, path: string, value: unknown, workflow: WorkflowFacts): void {
  const start = asObject(value);
  if (start === undefined) return;
  checkTransition(report, path, start, "start", workflow);
  const target = asText(start["target"]);
  if (target === undefined || target === "") return;
  if (target === selfTarget || !workflow.stateKeys.has(target)) {
    report.mistake(
      at(path, "target"),
      `The start transition's target ${show(target)} is not a state of this workflow; use the initial state${workflow.initialKeys.length === 1 ? ` ${show(workflow.initialKeys[0])}` : ""}.`,
    );
  } else if (workflow.initialKeys.length === 1 && workflow.initialKeys[0] !== target) {
    report.warning(
      at(path, "target"),
      `Instances start in ${show(target)}, which is not the initial state ${show(workflow.initialKeys[0])}.`,
    );
  }
}

function checkShared(report: Report, path: string, value: unknown, workflow: WorkflowFacts): void {
  const shared = asList(value);
  for (const [i, transition] of shared.entries()) {
    checkTransition(report, at(path, i), transition, "shared", workflow);
  }
  checkUniqueKeys(report, path, shared, "shared transition", "workflow");
}

function checkWellKnown(
  report: Report,
  path: string,
  attributes: JsonObject,
  workflow: WorkflowFacts,
): void {
  const taken = new Map<string, string>();
  for (const { member } of wellKnownTransitions) {
    const transition = asObject(attributes[member]);
    if (transition === undefined) continue;
    const place = at(path, member);
    checkTransition(report, place, transition, "wellKnown", workflow);
    const target = asText(transition["target"]);
    if (member === "updateData" && target !== undefined && target !== selfTarget) {
      report.mistake(
        at(place, "target"),
        `updateData never leaves the state; its target must be $self, got ${show(target)}.`,
      );
    }
    // Requests name these transitions by key, in any case: two with one key could not be told apart.
    const key = asText(transition["key"])?.toLowerCase();
    if (key === undefined) continue;
    const earlier = taken.get(key);
    if (earlier !== undefined) {
      report.mistake(
        at(place, "key"),
        `'${earlier}' has the key ${show(key)} already; use another.`,
      );
    }
    taken.set(key, member);
  }
}

function checkTimeout(report: Report, path: string, value: unknown, workflow: WorkflowFacts): void {
  const timeout = asObject(value);
  if (timeout === undefined) return;
  checkVersionStrategy(report, path, timeout);
  checkTarget(report, at(path, "target"), timeout["target"], workflow);
  checkScriptCode(report, at(path, "mapping"), timeout["mapping"], "code");
  const duration = asObject(timeout["timer"])?.["duration"];
  if (duration === null || duration === "") {
    report.mistake(
      at(path, "timer", "duration"),
      "The timeout has no duration; write one such as PT1H.",
    );
  } else {
    checkDuration(report, at(path, "timer", "duration"), duration);
  }
}

function checkParts(
  report: Report,
  path: string,
  attributes: JsonObject,
  workflow: WorkflowFacts,
): void {
  const references = { functions: ComponentKind.function, extensions: ComponentKind.extension };
  for (const [member, kind] of Object.entries(references)) {
    checkReferences(report, at(path, member), attributes[member], kind);
  }
  checkErrorBoundary(
    report,
    at(path, "errorBoundary"),
    attributes["errorBoundary"],
    workflow.transitionKeys,
  );
  checkSlot(report, at(path, "schema"), attributes["schema"], schemaSlot);
  checkRoles(report, at(path, "queryRoles"), attributes["queryRoles"]);
  checkScriptCode(report, at(path, "output"), attributes["output"], "code");
  checkEvent(report, at(path, "event"), attributes["event"]);
  checkScripts(report, at(path, "scripts"), attributes["scripts"]);
  const ttl = asObject(asObject(attributes["config"])?.["functionCache"])?.["ttlSeconds"];
  if (isPresent(ttl) && typeof ttl === "number" && ttl <= 0) {
    report.warning(
      at(path, "config", "functionCache", "ttlSeconds"),
      "A ttl of 0 or less means the host's default.",
    );
  }
}
