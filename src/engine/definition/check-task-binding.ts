/** A task and how it is run: in `onEntries`, `onExits`, `onExecutionTasks`, functions, extensions. */
import { ComponentKind } from "../component-kind.ts";
import { checkErrorBoundary, type KnownTransitions } from "./check-error-boundary.ts";
import { checkReference } from "./check-reference.ts";
import { checkScriptCode } from "./check-script-code.ts";
import { at, type Report } from "./findings.ts";
import { asList, asObject, isPresent } from "./json.ts";

export function checkTaskBindings(
  report: Report,
  path: string,
  value: unknown,
  transitions?: KnownTransitions,
): void {
  for (const [i, item] of asList(value).entries()) {
    checkTaskBinding(report, at(path, i), item, i + 1, transitions);
  }
}

export function checkTaskBinding(
  report: Report,
  path: string,
  value: unknown,
  position: number,
  transitions?: KnownTransitions,
): void {
  const binding = asObject(value);
  if (binding === undefined) return;
  if (!isPresent(binding["order"])) {
    report.warning(
      at(path, "order"),
      `'order' is missing; the default is its position, ${position}.`,
    );
  }
  if (!isPresent(binding["mapping"])) {
    report.warning(
      at(path, "mapping"),
      "'mapping' is missing; the task runs as configured and its result is not merged.",
    );
  }
  checkReference(report, at(path, "task"), binding["task"], ComponentKind.task);
  checkScriptCode(report, at(path, "mapping"), binding["mapping"]);
  checkErrorBoundary(report, at(path, "errorBoundary"), binding["errorBoundary"], transitions);
}
