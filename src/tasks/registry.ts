/** Which task types there are: one row each. */
import { StepFailed } from "../engine/task-failure.ts";
import type { TaskOutcome } from "../engine/transition/advance.ts";
import type { ScriptHost } from "../scripting/script-host.ts";
import { runScriptTask } from "./script-task.ts";
import type { TaskHost, TaskInvocation } from "./task-host.ts";

type RunTask = (scripts: ScriptHost, invocation: TaskInvocation) => Promise<TaskOutcome>;

interface TaskType {
  readonly isEffectful: boolean;
  readonly run: RunTask;
}

const types: Readonly<Record<string, TaskType>> = {
  "7": { isEffectful: false, run: runScriptTask },
};

const typeOf = (code: unknown) => types[String(code)];

export function createTasks(scripts: ScriptHost): TaskHost {
  return {
    isEffectful: (definition) => typeOf(definition.attributes["type"])?.isEffectful === true,
    run: async (invocation) => {
      const { key, attributes } = invocation.definition;
      const type = typeOf(attributes["type"]);
      if (type !== undefined) return type.run(scripts, invocation);
      throw new StepFailed({
        code: "Task:400009",
        layer: "Task",
        task: key,
        message: `Task '${key}' has the type ${String(attributes["type"])}, which this version of the service does not run.`,
        retryable: false,
      });
    },
  };
}
