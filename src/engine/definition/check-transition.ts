/** Transitions, wherever they are declared: what each trigger needs, and what it cannot have. */
import { checkAvailableIn } from "./check-available-in.ts";
import { checkLabels, checkVersionStrategy } from "./check-labels.ts";
import { checkRoles } from "./check-roles.ts";
import { checkScriptCode } from "./check-script-code.ts";
import { checkSlot, schemaSlot, viewSlot } from "./check-slot.ts";
import { checkTaskBindings } from "./check-task-binding.ts";
import { triggerKind, triggerType, type TriggerType } from "./enumerations.ts";
import { at, type Report } from "./findings.ts";
import { asObject, asText, enumerate, isPresent, type JsonObject, show } from "./json.ts";
import { selfTarget, type WorkflowFacts } from "./workflow-facts.ts";

/** Where a transition is declared. `wellKnown` are cancel, exit and updateData. */
export type TransitionPlace = "state" | "shared" | "start" | "wellKnown";

export function checkTransition(
  report: Report,
  path: string,
  value: unknown,
  place: TransitionPlace,
  workflow: WorkflowFacts,
): void {
  const transition = asObject(value);
  if (transition === undefined) return;
  checkLabels(report, path, transition);
  checkVersionStrategy(report, path, transition);
  checkTrigger(report, path, transition, place);
  if (place !== "start") checkTarget(report, at(path, "target"), transition["target"], workflow);
  checkWhere(report, path, transition, place, workflow);
  checkParts(report, path, transition, workflow);
}

/** A target is a state of the workflow, or `$self`. */
export function checkTarget(
  report: Report,
  path: string,
  value: unknown,
  workflow: WorkflowFacts,
): void {
  const target = asText(value);
  if (target === undefined || target === "" || target === selfTarget) return;
  if (workflow.stateKeys.has(target)) return;
  report.mistake(
    path,
    `The target ${show(target)} is not a state of this workflow; use $self or one of ${enumerate([...workflow.stateKeys])}.`,
  );
}

const triggerNames: Record<TriggerType, string> = {
  manual: "A manual transition (triggerType 0)",
  automatic: "An automatic transition (triggerType 1)",
  scheduled: "A scheduled transition (triggerType 2)",
  event: "An event transition (triggerType 3)",
};

/** Definition model §4.2: what the public engine refuses beside each trigger. */
const cannotHave: Record<TriggerType, readonly string[]> = {
  manual: ["rule", "timer"],
  automatic: ["timer", "schema", "view", "views", "mapping"],
  scheduled: ["rule", "schema", "view", "views", "mapping"],
  event: ["rule", "timer"],
};

function checkTrigger(
  report: Report,
  path: string,
  transition: JsonObject,
  place: TransitionPlace,
): void {
  if (!isPresent(transition["triggerType"])) {
    report.warning(at(path, "triggerType"), "'triggerType' is missing; the default is 0 (manual).");
  }
  const trigger = triggerType.read(transition["triggerType"] ?? "manual");
  if (trigger === undefined) return;

  if (place === "start" || place === "wellKnown") {
    checkManualOnly(report, path, transition, trigger);
    return;
  }
  if (place === "shared" && trigger === "automatic") {
    report.mistake(
      at(path, "triggerType"),
      "A shared transition cannot be automatic; declare it in the states, or make it manual, scheduled or event.",
    );
    return;
  }
  for (const member of cannotHave[trigger]) {
    if (!isPresent(transition[member])) continue;
    report.mistake(
      at(path, member),
      `${triggerNames[trigger]} cannot have '${member}'; remove it or change the trigger.`,
    );
  }
  checkNeeds(report, path, transition, trigger);
  checkKind(report, path, transition, trigger);
}

function checkNeeds(
  report: Report,
  path: string,
  transition: JsonObject,
  trigger: TriggerType,
): void {
  const isDefault = triggerKind.read(transition["triggerKind"]) === "default";
  if (trigger === "automatic" && !isDefault && !isPresent(transition["rule"])) {
    report.mistake(
      at(path, "rule"),
      `${triggerNames.automatic} needs a 'rule', or triggerKind 10 to be the default.`,
    );
  }
  if (trigger === "scheduled" && !isPresent(transition["timer"])) {
    report.mistake(
      at(path, "timer"),
      `${triggerNames.scheduled} needs a 'timer', a script that yields its moment.`,
    );
  }
  if (trigger === "event" && !isPresent(transition["event"])) {
    report.warning(
      at(path, "event"),
      `${triggerNames.event} has no 'event' with the mapping that reads events; only a request can take it.`,
    );
  }
}

function checkKind(
  report: Report,
  path: string,
  transition: JsonObject,
  trigger: TriggerType,
): void {
  if (triggerKind.read(transition["triggerKind"]) === "default" && trigger !== "automatic") {
    report.mistake(
      at(path, "triggerKind"),
      "triggerKind 10 (default) is for automatic transitions only; set triggerType 1 or remove it.",
    );
  }
}

function checkManualOnly(
  report: Report,
  path: string,
  transition: JsonObject,
  trigger: TriggerType,
): void {
  if (trigger !== "manual") {
    report.mistake(
      at(path, "triggerType"),
      `This transition is always manual; set triggerType 0, got ${show(transition["triggerType"])}.`,
    );
  }
  for (const member of ["rule", "timer", "event"]) {
    if (!isPresent(transition[member])) continue;
    report.warning(at(path, member), `'${member}' has no effect on a transition that is manual.`);
  }
}

function checkWhere(
  report: Report,
  path: string,
  transition: JsonObject,
  place: TransitionPlace,
  workflow: WorkflowFacts,
): void {
  const availableIn = transition["availableIn"];
  if (place === "state" || place === "start") {
    // An empty list is how some tools write that there is none.
    if (isPresent(availableIn) && !(Array.isArray(availableIn) && availableIn.length === 0)) {
      report.mistake(
        at(path, "availableIn"),
        `'availableIn' belongs to shared transitions, cancel, exit and updateData; remove it from ${place === "state" ? "a state's own transition" : "the start transition"}.`,
      );
    }
    return;
  }
  checkAvailableIn(report, at(path, "availableIn"), availableIn, workflow.stateKeys);
  if (place !== "shared") return;
  const trigger = triggerType.read(transition["triggerType"]);
  if (trigger === "scheduled") {
    report.warning(
      at(path, "triggerType"),
      "A shared scheduled transition is never armed; declare it in the states that need it.",
    );
  }
  if (trigger !== "manual" && trigger !== undefined && isPresent(availableIn)) {
    report.warning(at(path, "availableIn"), "'availableIn' is for manual shared transitions.");
  }
}

/** The parts that are checked alike whatever the trigger is. */
function checkParts(
  report: Report,
  path: string,
  transition: JsonObject,
  workflow: WorkflowFacts,
): void {
  checkScriptCode(report, at(path, "rule"), transition["rule"], "code");
  checkScriptCode(report, at(path, "timer"), transition["timer"], "code");
  checkScriptCode(report, at(path, "mapping"), transition["mapping"]);
  checkEvent(report, at(path, "event"), transition["event"]);
  checkResourceLock(report, at(path, "resourceLock"), transition["resourceLock"]);
  checkSlot(report, at(path, "schema"), transition["schema"], schemaSlot);
  checkSlot(report, at(path, "view"), transition["view"], viewSlot);
  checkSlot(report, at(path, "views"), transition["views"], viewSlot);
  checkRoles(report, at(path, "roles"), transition["roles"]);
  checkTaskBindings(
    report,
    at(path, "onExecutionTasks"),
    transition["onExecutionTasks"],
    workflow.transitionKeys,
  );
}

export function checkEvent(report: Report, path: string, value: unknown): void {
  checkScriptCode(report, at(path, "mapping"), asObject(value)?.["mapping"], "code");
}

function checkResourceLock(report: Report, path: string, value: unknown): void {
  const expression = asObject(value)?.["keyExpression"];
  checkScriptCode(report, at(path, "keyExpression"), expression, "code");
}
