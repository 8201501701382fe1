/**
 * Task type 7: its mapping is the task. Nothing is invoked between the two handlers; what the output
 * handler answers is the task's result.
 */
import { variableName } from "../engine/definition/variable-name.ts";
import type { TaskOutcome } from "../engine/transition/advance.ts";
import type { ScriptHost } from "../scripting/script-host.ts";
import { mappingHandlers } from "./mapping-handlers.ts";
import type { TaskInvocation } from "./task-host.ts";

export async function runScriptTask(
  scripts: ScriptHost,
  invocation: TaskInvocation,
): Promise<TaskOutcome> {
  const name = variableName(invocation.definition.key);
  const { mapping } = invocation.binding;
  // Without a script of its own (`type: "G"`) there is nothing to do and nothing to merge.
  if (mapping === undefined || mapping.type === "global") {
    return { name, response: undefined, data: undefined };
  }
  const handlers = mappingHandlers(scripts, invocation, mapping, { type: "7", name: "Script" });
  await handlers.input();
  const data = await handlers.output();
  const response = { data: data ?? null, isSuccess: true, taskType: "Script" };
  return { name, response, data, ...handlers.effects() };
}
