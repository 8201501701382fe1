/** Tasks that need neither the outside world nor a sandbox. */
import { variableName } from "../engine/definition/variable-name.ts";
import { StepFailed } from "../engine/task-failure.ts";
import type { TaskHost } from "./task-host.ts";

/**
 * A script task (type 7) is its mapping. Without a script (`type: "G"`) there is nothing to do: the
 * task succeeds and merges nothing.
 */
export const basicTasks: TaskHost = {
  isEffectful: () => false,
  async run({ binding, definition }) {
    const type = String(definition.attributes["type"]);
    if (type !== "7") {
      throw failed(
        "Task:400009",
        `Task '${definition.key}' has the type ${type}, which this version of the service does not run.`,
        definition.key,
      );
    }
    if (binding.mapping !== undefined && binding.mapping.type !== "global") {
      throw failed(
        "Task:400007",
        `The mapping of task '${definition.key}' is a script, which this version of the service does not run.`,
        definition.key,
      );
    }
    return { name: variableName(definition.key), response: undefined, data: undefined };
  },
};

const failed = (code: string, message: string, task: string) =>
  new StepFailed({ code, layer: "Task", message, task, retryable: false });
