/** Members that have a documented default: leaving them out is worth a warning, never a refusal. */
import { at, type Report } from "./findings.ts";
import { asText, isPresent, type JsonObject, show } from "./json.ts";

export function checkLabels(report: Report, path: string, owner: JsonObject): void {
  const labels = owner["labels"];
  if (isPresent(labels) && !(Array.isArray(labels) && labels.length === 0)) return;
  const key = asText(owner["key"]);
  report.warning(
    at(path, "labels"),
    `'labels' is missing; the default is ${key === undefined ? "the key" : show(key)}.`,
  );
}

export function checkVersionStrategy(report: Report, path: string, owner: JsonObject): void {
  if (isPresent(owner["versionStrategy"])) return;
  report.warning(
    at(path, "versionStrategy"),
    "'versionStrategy' is missing; the default is Patch.",
  );
}
