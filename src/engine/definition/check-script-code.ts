/** Script slots: the code is there, and can be read. Whether it compiles is scripting's question. */
import { ComponentKind } from "../component-kind.ts";
import { checkReference, checkReferences } from "./check-reference.ts";
import { scriptEncoding, scriptType } from "./enumerations.ts";
import { at, type Report } from "./findings.ts";
import { asObject, asText, isPresent } from "./json.ts";
import { decodeBase64, expressionLocation, longestExpression } from "./script-code.ts";

/**
 * - `mapping` may be global (`{ "type": "G" }`): nothing is mapped.
 * - `code` has to yield something (a condition, a schedule, a key), so it must carry code.
 */
export type ScriptSlot = "mapping" | "code";

export function checkScriptCode(
  report: Report,
  path: string,
  value: unknown,
  slot: ScriptSlot = "mapping",
): void {
  const script = asObject(value);
  if (script === undefined) return;
  checkScripts(report, at(path, "scripts"), script["scripts"]);

  if (scriptType.read(script["type"] ?? "L") === "global") {
    if (slot === "code") {
      report.mistake(
        at(path, "type"),
        "A script of type G carries no code, but this slot needs some; use type L with 'code'.",
      );
    }
    return;
  }
  const encoding = scriptEncoding.read(script["encoding"] ?? "B64");
  if (encoding === "reference") checkReferredCode(report, path, script["code"]);
  else if (encoding !== undefined) {
    const isExpression = asText(script["location"]) === expressionLocation;
    checkOwnCode(report, at(path, "code"), script["code"], encoding === "base64", isExpression);
  }
}

/** `scripts.helpers` of a workflow, or of one script. */
export function checkScripts(report: Report, path: string, value: unknown): void {
  const helpers = asObject(value)?.["helpers"];
  checkReferences(report, at(path, "helpers"), helpers, ComponentKind.mapping);
}

function checkReferredCode(report: Report, path: string, code: unknown): void {
  if (asObject(code) === undefined) {
    report.mistake(
      at(path, "code"),
      "With encoding REF, 'code' must be a reference { key, version, domain, flow: 'sys-mappings' }.",
    );
    return;
  }
  checkReference(report, at(path, "code"), code, ComponentKind.mapping);
}

function checkOwnCode(
  report: Report,
  path: string,
  code: unknown,
  isBase64: boolean,
  isExpression: boolean,
): void {
  if (asObject(code) !== undefined) {
    report.mistake(path, "'code' is a reference, which needs the encoding REF.");
    return;
  }
  const text = asText(code);
  if (!isPresent(code) || text?.trim() === "") {
    report.mistake(
      path,
      "The script has no code; put the script's text here, a location alone is not read.",
    );
    return;
  }
  if (text === undefined) return;
  const decoded = isBase64 ? decodeBase64(text) : text;
  if (decoded === undefined) {
    report.mistake(
      path,
      "The code is not base64 of UTF-8 text; encode it, or set the encoding to NAT for plain text.",
    );
  } else if (decoded.trim() === "") {
    report.mistake(path, "The code decodes to nothing; put the script's text here.");
  } else if (isExpression && decoded.length > longestExpression) {
    report.mistake(
      path,
      `The expression has ${decoded.length} characters; the most is ${longestExpression}. Use a script instead.`,
    );
  }
}
