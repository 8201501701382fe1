/** The attributes of a function (`sys-functions`). */
import { checkRoles } from "./check-roles.ts";
import { checkScriptCode } from "./check-script-code.ts";
import { checkSlot, schemaSlot, viewSlot } from "./check-slot.ts";
import { checkTaskBinding, checkTaskBindings } from "./check-task-binding.ts";
import { functionVerb } from "./enumerations.ts";
import { at, type Report } from "./findings.ts";
import { asList, asObject, asText, isPresent, type JsonObject, show } from "./json.ts";
import { variableName } from "./variable-name.ts";

export function checkFunction(report: Report, path: string, attributes: JsonObject): void {
  checkTasks(report, path, attributes);
  checkScriptCode(report, at(path, "output"), attributes["output"], "code");
  checkRoles(report, at(path, "roles"), attributes["roles"]);
  checkVerbs(report, path, attributes);
  for (const member of ["inputSchema", "outputSchema"]) {
    checkSlot(report, at(path, member), attributes[member], schemaSlot, true);
  }
  for (const member of ["inputView", "outputView"]) {
    checkSlot(report, at(path, member), attributes[member], viewSlot, true);
  }
  const cache = asObject(attributes["cache"]);
  if (cache !== undefined) checkCache(report, at(path, "cache"), cache);
}

function checkTasks(report: Report, path: string, attributes: JsonObject): void {
  const tasks = asList(attributes["onExecutionTasks"]);
  const hasOne = isPresent(attributes["task"]);
  checkTaskBinding(report, at(path, "task"), attributes["task"], 1);
  checkTaskBindings(report, at(path, "onExecutionTasks"), tasks);
  if (tasks.length === 0) {
    // A list of the wrong type has its own message.
    const listed = attributes["onExecutionTasks"];
    if (!hasOne && (!isPresent(listed) || Array.isArray(listed))) {
      report.mistake(
        at(path, "task"),
        "A function runs something; give a 'task', or several in 'onExecutionTasks'.",
      );
    }
    return;
  }
  if (hasOne) {
    report.warning(
      at(path, "task"),
      "'task' is not run, because 'onExecutionTasks' is given as well.",
    );
  }
  if (!isPresent(attributes["output"])) {
    report.warning(
      at(path, "output"),
      "'output' is missing; the results of all tasks, by variable name, are the answer.",
    );
  }
  checkVariableNames(report, at(path, "onExecutionTasks"), tasks);
}

/** Results are told apart by variable name: two tasks with one name would overwrite each other. */
function checkVariableNames(report: Report, path: string, tasks: readonly unknown[]): void {
  const owners = new Map<string, string>();
  for (const [i, item] of tasks.entries()) {
    const reference = asObject(asObject(item)?.["task"]);
    const key = asText(reference?.["key"]) ?? asText(reference?.["id"]);
    if (key === undefined) continue;
    const name = variableName(key);
    const earlier = owners.get(name);
    const place = at(path, i, "task", "key");
    if (earlier === key) {
      report.warning(place, `The task ${show(key)} runs twice; its last result is the one kept.`);
    } else if (earlier === undefined) {
      owners.set(name, key);
    } else {
      report.mistake(
        place,
        `The tasks ${show(earlier)} and ${show(key)} both get the variable name ${show(name)}; rename one.`,
      );
    }
  }
}

function checkVerbs(report: Report, path: string, attributes: JsonObject): void {
  const verbs = asList(attributes["verbs"]).map((verb) => functionVerb.read(verb));
  for (const [i, verb] of verbs.entries()) {
    if (verb !== undefined && verbs.indexOf(verb) < i) {
      report.mistake(at(path, "verbs", i), `The verb ${verb} is listed twice; list each once.`);
    }
  }
  const bodyless = verbs.length > 0 && verbs.every((verb) => verb === "GET");
  if (bodyless && isPresent(attributes["inputSchema"])) {
    report.mistake(
      at(path, "inputSchema"),
      "A function that answers GET only gets no body to check; remove 'inputSchema' or add a verb.",
    );
  }
}

function checkCache(report: Report, path: string, cache: JsonObject): void {
  const scripts = ["key", "keyExpression", "generationKey", "generationKeyExpression"];
  for (const member of scripts) {
    checkScriptCode(report, at(path, member), cache[member], "code");
  }
  if (!isPresent(cache["key"]) && !isPresent(cache["keyExpression"])) {
    report.mistake(
      at(path, "keyExpression"),
      "A cache needs a key; give a 'keyExpression' (or 'key').",
    );
  }
}
