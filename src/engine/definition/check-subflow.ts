/** The `subFlow` block of a state, and what the parent overrides in the child. */
import { ComponentKind } from "../component-kind.ts";
import { checkDuration } from "./check-error-boundary.ts";
import { checkInteraction } from "./check-long-poll.ts";
import { checkReference } from "./check-reference.ts";
import { checkRoles } from "./check-roles.ts";
import { checkScriptCode } from "./check-script-code.ts";
import { at, type Report } from "./findings.ts";
import { asObject, isPresent, type JsonObject } from "./json.ts";

export function checkSubFlow(report: Report, path: string, value: unknown): void {
  const subFlow = asObject(value);
  if (subFlow === undefined) return;
  checkReference(report, at(path, "process"), subFlow["process"], ComponentKind.flow);
  checkScriptCode(report, at(path, "mapping"), subFlow["mapping"]);
  if (!isPresent(subFlow["mapping"])) {
    report.warning(
      at(path, "mapping"),
      "'mapping' is missing; the child starts with the parent's data and gives nothing back.",
    );
  }
  checkViews(report, at(path, "viewOverrides"), subFlow["viewOverrides"]);
  const overrides = asObject(subFlow["overrides"]);
  if (overrides !== undefined) checkOverrides(report, at(path, "overrides"), overrides);
}

function checkOverrides(report: Report, path: string, overrides: JsonObject): void {
  checkViews(report, at(path, "views"), overrides["views"]);
  for (const [key, value] of Object.entries(asObject(overrides["transitions"]) ?? {})) {
    const place = at(path, "transitions", key);
    checkRoles(report, at(place, "roles"), asObject(value)?.["roles"]);
    checkViews(report, at(place, "views"), asObject(value)?.["views"]);
  }
  for (const [key, value] of Object.entries(asObject(overrides["states"]) ?? {})) {
    const place = at(path, "states", key);
    const state = asObject(value);
    checkRoles(report, at(place, "queryRoles"), state?.["queryRoles"]);
    checkInteraction(report, at(place, "interaction"), state?.["interaction"]);
    checkViews(report, at(place, "views"), state?.["views"]);
  }
  // The target names a state of the child, which is not known here.
  const timeout = asObject(overrides["timeout"]);
  const timer = asObject(timeout?.["timer"]);
  checkDuration(report, at(path, "timeout", "timer", "duration"), timer?.["duration"]);
  checkScriptCode(report, at(path, "timeout", "mapping"), timeout?.["mapping"], "code");
}

function checkViews(report: Report, path: string, value: unknown): void {
  for (const [key, reference] of Object.entries(asObject(value) ?? {})) {
    checkReference(report, at(path, key), reference, ComponentKind.view);
  }
}
