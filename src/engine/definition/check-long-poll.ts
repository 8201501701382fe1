/** `interaction.longPoll`: whether a state waits to be seen, and by whom. */
import { checkRoles } from "./check-roles.ts";
import { checkScriptCode } from "./check-script-code.ts";
import { at, type Report } from "./findings.ts";
import { asList, asObject, isPresent } from "./json.ts";

export function checkInteraction(report: Report, path: string, value: unknown): void {
  const place = at(path, "longPoll");
  const longPoll = asObject(asObject(value)?.["longPoll"]);
  if (longPoll === undefined) return;
  checkRoles(report, at(place, "roles"), longPoll["roles"]);
  checkScriptCode(report, at(place, "rule"), longPoll["rule"], "code");
  if (asList(longPoll["roles"]).length > 0 && isPresent(longPoll["rule"])) {
    report.mistake(place, "A long poll has either 'roles' or a 'rule', not both; remove one.");
  }
}
