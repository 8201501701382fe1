/** References to other components: `{ key, domain, flow, version }`. */
import type { ComponentKind } from "../component-kind.ts";
import { at, type Report } from "./findings.ts";
import { asObject, asText, isPresent, show } from "./json.ts";
import { isVersionReference } from "./reference.ts";

/**
 * Checks one reference. The slot decides the kind: a task slot that names a view could never run.
 * Whether the component exists is not asked, because packages are published file by file.
 */
export function checkReference(
  report: Report,
  path: string,
  value: unknown,
  kind: ComponentKind | undefined,
): void {
  const reference = asObject(value);
  if (reference === undefined) return;

  const key = reference["key"] ?? reference["id"];
  if (!isPresent(key)) {
    checkShortForm(report, path, reference["ref"]);
    return;
  }
  if (asText(key)?.trim() === "") {
    report.mistake(at(path, "key"), "The reference's key is empty; name the component.");
  }
  checkFlow(report, path, reference["flow"], kind);
  if (!isPresent(reference["domain"])) {
    report.warning(
      at(path, "domain"),
      `The reference has no domain; the component's own${report.domain === undefined ? "" : `, ${show(report.domain)},`} is used.`,
    );
  }
  checkVersion(report, path, reference["version"]);
}

export function checkReferences(
  report: Report,
  path: string,
  value: unknown,
  kind: ComponentKind | undefined,
): void {
  if (!Array.isArray(value)) return;
  for (const [i, item] of value.entries()) checkReference(report, at(path, i), item, kind);
}

function checkShortForm(report: Report, path: string, ref: unknown): void {
  if (!isPresent(ref)) {
    report.mistake(at(path, "key"), "The reference names no component; give its 'key'.");
  } else if (report.lenient) {
    report.warning(path, `The short reference ${show(ref)} is read as the key in its file name.`);
  } else {
    report.mistake(
      path,
      `The short reference ${show(ref)} is for authoring only; write { key, domain, flow, version }, as the package build does.`,
    );
  }
}

function checkFlow(
  report: Report,
  path: string,
  flow: unknown,
  kind: ComponentKind | undefined,
): void {
  if (kind === undefined) return;
  if (!isPresent(flow)) {
    report.warning(at(path, "flow"), `The reference has no flow; ${kind} is used.`);
  } else if (typeof flow === "string" && flow !== kind) {
    report.mistake(
      at(path, "flow"),
      `The reference is to ${show(flow)}, but only a component of ${kind} can stand here.`,
    );
  }
}

function checkVersion(report: Report, path: string, version: unknown): void {
  if (!isPresent(version)) {
    report.warning(at(path, "version"), "The reference has no version; the latest is used.");
  } else if (typeof version === "string" && !isVersionReference(version)) {
    report.mistake(
      at(path, "version"),
      `The version ${show(version)} cannot be looked up; write an exact version such as 1.2.3, or 1.2, 1 or latest.`,
    );
  }
}
