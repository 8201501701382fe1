/**
 * Task type 7: its mapping is the task. Nothing is invoked between the two handlers; what the output
 * handler answers is the task's result.
 */
import { variableName } from "../engine/definition/variable-name.ts";
import type { TaskOutcome } from "../engine/transition/happenings.ts";
import { mappingHandlers } from "./mapping-handlers.ts";
import type { TaskInvocation } from "./task-host.ts";
import type { TaskPorts, TaskType } from "./task-type.ts";

export const scriptTask: TaskType = {
  name: "Script",
  isEffectful: () => false,
  run: runScriptTask,
};

async function runScriptTask(
  { scripts }: TaskPorts,
  invocation: TaskInvocation,
): Promise<TaskOutcome> {
  const name = variableName(invocation.definition.key);
  const { mapping } = invocation.binding;
  // Without a script of its own (`type: "G"`) there is nothing to do and nothing to merge.
  if (mapping === undefined || mapping.type === "global") {
    return { name, response: undefined, data: undefined };
  }
  const handlers = mappingHandlers(scripts, invocation, mapping, { code: "7", name: "Script" });
  await handlers.input();
  const data = await handlers.output();
  const response = { data: data ?? null, isSuccess: true, taskType: "Script" };
  return { name, response, data, ...handlers.effects() };
}
