/** The attributes of a mapping (`sys-mappings`): code that scripts share. */
import { checkScriptCode } from "./check-script-code.ts";
import { at, type Report } from "./findings.ts";
import { isPresent, type JsonObject } from "./json.ts";

export function checkMapping(report: Report, path: string, attributes: JsonObject): void {
  if (!isPresent(attributes["encoding"])) {
    report.warning(at(path, "encoding"), "'encoding' is missing; the default is B64.");
  }
  const { code, encoding } = attributes;
  checkScriptCode(report, path, { code, encoding }, "code");
}
