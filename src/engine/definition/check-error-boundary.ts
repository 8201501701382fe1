/** Error boundaries of workflows, states and tasks. */
import { errorAction } from "./enumerations.ts";
import { at, type Report } from "./findings.ts";
import { parseIsoDuration } from "./iso-duration.ts";
import { asList, asObject, asText, isPresent, type JsonObject, show } from "./json.ts";

/** `undefined` where the workflow is not known (a task of a function): the name is not looked up. */
export type KnownTransitions = ReadonlySet<string> | undefined;

export function checkErrorBoundary(
  report: Report,
  path: string,
  value: unknown,
  transitions: KnownTransitions,
): void {
  const boundary = asObject(value);
  if (boundary === undefined) return;
  for (const [i, item] of asList(boundary["onError"]).entries()) {
    const rule = asObject(item);
    if (rule !== undefined) checkRule(report, at(path, "onError", i), rule, transitions);
  }
  const onTimeout = asObject(boundary["onTimeout"]);
  if (onTimeout !== undefined)
    checkOnTimeout(report, at(path, "onTimeout"), onTimeout, transitions);
}

/** The public system never executes it, so packages may have anything there: doubts are warnings. */
function checkOnTimeout(
  report: Report,
  path: string,
  policy: JsonObject,
  transitions: KnownTransitions,
): void {
  const transition = asText(policy["transition"]) ?? "";
  if (transition !== "" && transitions !== undefined && !transitions.has(transition)) {
    report.warning(
      at(path, "transition"),
      `The workflow has no transition ${show(transition)}; a timeout faults the instance instead.`,
    );
  }
  if (errorAction.read(policy["action"]) === undefined) {
    report.warning(at(path, "action"), "'action' is missing or unknown; a timeout aborts.");
  }
}

function checkRule(
  report: Report,
  path: string,
  rule: JsonObject,
  transitions: KnownTransitions,
): void {
  const action = errorAction.read(rule["action"]);
  const transition = asText(rule["transition"]) ?? "";
  if (transition === "") {
    if (action === "rollback" || action === "notify") {
      report.mistake(
        at(path, "transition"),
        `The action ${action} needs the transition to take; name it in 'transition'.`,
      );
    }
  } else if (transitions !== undefined && !transitions.has(transition)) {
    report.mistake(
      at(path, "transition"),
      `The workflow has no transition ${show(transition)}; name one of its transitions.`,
    );
  }
  const policy = asObject(rule["retryPolicy"]);
  if (policy !== undefined) checkRetryPolicy(report, at(path, "retryPolicy"), policy);
  else if (action === "retry" && !isPresent(rule["retryPolicy"])) {
    report.mistake(
      at(path, "retryPolicy"),
      "The action retry needs a 'retryPolicy', such as { initialDelay: 'PT5S', maxRetries: 3 }.",
    );
  }
}

function checkRetryPolicy(report: Report, path: string, policy: JsonObject): void {
  if (!isPresent(policy["initialDelay"])) {
    report.warning(at(path, "initialDelay"), "'initialDelay' is missing; the default is PT1S.");
  }
  const initial = checkDuration(report, at(path, "initialDelay"), policy["initialDelay"]);
  const longest = checkDuration(report, at(path, "maxDelay"), policy["maxDelay"]);
  if (initial !== undefined && longest !== undefined && longest < initial) {
    report.mistake(
      at(path, "maxDelay"),
      `The longest delay ${show(policy["maxDelay"])} is shorter than the initial delay ${show(policy["initialDelay"])}; raise it or leave it out.`,
    );
  }
}

/** Reports a duration that is not ISO 8601 or not above zero; answers its milliseconds otherwise. */
export function checkDuration(report: Report, path: string, value: unknown): number | undefined {
  const text = asText(value);
  if (text === undefined) return undefined;
  const duration = parseIsoDuration(text);
  if (duration === undefined) {
    report.mistake(
      path,
      `${show(text)} is not an ISO 8601 duration; write it like PT30S or P1DT2H.`,
    );
  } else if (duration <= 0) {
    report.mistake(path, `The duration ${show(text)} must be longer than nothing.`);
    return undefined;
  }
  return duration;
}
