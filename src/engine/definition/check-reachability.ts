/** States that no way leads to: probably a forgotten transition, never a reason to refuse. */
import { at, type Report } from "./findings.ts";
import { asList, asObject, asText, isPresent, type JsonObject } from "./json.ts";
import { wellKnownTransitions, type WorkflowFacts } from "./workflow-facts.ts";

export function checkReachability(
  report: Report,
  path: string,
  attributes: JsonObject,
  workflow: WorkflowFacts,
): void {
  const reached = new Set<string>();
  const waiting = [...workflow.initialKeys, ...workflowTargets(attributes)];
  const targets = targetsByState(attributes);
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    if (reached.has(key)) continue;
    reached.add(key);
    waiting.push(...(targets.get(key) ?? []));
  }
  for (const [i, state] of asList(attributes["states"]).entries()) {
    const key = asText(asObject(state)?.["key"]);
    if (key === undefined || reached.has(key)) continue;
    report.warning(at(path, "states", i), "No transition leads to this state.");
  }
}

/** Where the transitions of the whole workflow lead. */
function workflowTargets(attributes: JsonObject): string[] {
  return [
    attributes["startTransition"],
    ...asList(attributes["sharedTransitions"]),
    ...wellKnownTransitions.map(({ member }) => attributes[member]),
    attributes["timeout"],
  ]
    .filter(isPresent)
    .flatMap((transition) => asText(asObject(transition)?.["target"]) ?? []);
}

function targetsByState(attributes: JsonObject): Map<string, string[]> {
  const targets = new Map<string, string[]>();
  for (const item of asList(attributes["states"])) {
    const state = asObject(item);
    const key = asText(state?.["key"]);
    if (state === undefined || key === undefined) continue;
    const own = asList(state["transitions"]).flatMap(
      (transition) => asText(asObject(transition)?.["target"]) ?? [],
    );
    targets.set(key, [...(targets.get(key) ?? []), ...own]);
  }
  return targets;
}
