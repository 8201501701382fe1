/** `availableIn`: the states a shared or workflow-level transition can be taken from. */
import { checkRoles } from "./check-roles.ts";
import { at, type Report } from "./findings.ts";
import { asList, asObject, asText, enumerate, show } from "./json.ts";

/**
 * The literal list `["all"]` means every state (specification, "Transition definition additions"),
 * unless a state is called so.
 */
export function meansEveryState(value: unknown, states: ReadonlySet<string>): boolean {
  const entries = asList(value);
  if (entries.length === 0) return true;
  const only = entries.length === 1 ? asText(entries[0]) : undefined;
  return only !== undefined && only.toLowerCase() === "all" && !states.has(only);
}

export function checkAvailableIn(
  report: Report,
  path: string,
  value: unknown,
  states: ReadonlySet<string>,
): void {
  if (meansEveryState(value, states)) return;
  const seen = new Set<string>();
  for (const [i, entry] of asList(value).entries()) {
    const object = asObject(entry);
    const state = asText(entry) ?? asText(object?.["state"]);
    const place = object === undefined ? at(path, i) : at(path, i, "state");
    checkRoles(report, at(path, i, "roles"), object?.["roles"]);
    if (state === undefined) continue;
    if (seen.has(state)) {
      report.mistake(place, `The state ${show(state)} is listed twice; list each state once.`);
    } else if (!states.has(state)) {
      report.mistake(
        place,
        `${show(state)} is not a state of this workflow; the states are ${enumerate([...states])}.`,
      );
    }
    seen.add(state);
  }
}
