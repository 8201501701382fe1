/** The attributes of an extension (`sys-extensions`). */
import { checkTaskBinding } from "./check-task-binding.ts";
import { at, type Report } from "./findings.ts";
import type { JsonObject } from "./json.ts";

export function checkExtension(report: Report, path: string, attributes: JsonObject): void {
  checkTaskBinding(report, at(path, "task"), attributes["task"], 1);
}
