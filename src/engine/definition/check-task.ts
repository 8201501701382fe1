/** The attributes of a task (`sys-tasks`): a type, and beside it the config of that type. */
import { checkTaskConfig, configRules } from "./check-task-config.ts";
import { taskType } from "./enumerations.ts";
import { at, type Report } from "./findings.ts";
import { asObject, isPresent, type JsonObject } from "./json.ts";

export function checkTask(
  report: Report,
  path: string,
  attributes: JsonObject,
  component: JsonObject,
): void {
  const type = taskType.read(attributes["type"]);
  if (asObject(component["config"]) !== undefined) {
    report.mistake(
      "config",
      "'config' stands at the root of the definition; move it to attributes.config, beside attributes.type.",
    );
  }
  if (type === undefined) return;
  const rules = configRules[type];
  if (rules.note !== undefined) report.warning(at(path, "type"), rules.note);

  if (isPresent(attributes["config"])) {
    const config = asObject(attributes["config"]);
    if (config !== undefined) checkTaskConfig(report, at(path, "config"), config, type);
  } else if (rules.configOptional === true) {
    report.warning(at(path, "config"), "'config' is missing; the default is {}.");
  } else if (!isPresent(component["config"])) {
    report.mistake(
      at(path, "config"),
      "'config' is required and missing: the settings of the task type, an object beside 'type'.",
    );
  }
}
