/**
 * Tasks that reach outside, as far as the product can tell, and end when the test says so.
 *
 *   const tasks = gatedTasks();
 *   …start a runtime with `tasks`, publish `gatedTask("call")`, send the transition that runs it…
 *   await tasks.waiting("call");    it is under way
 *   tasks.open("call", { paid: true });   it ends, and its output is merged
 */
import { StepFailed } from "../../src/engine/task-failure.ts";
import type { JsonValue } from "../../src/engine/exact-json.ts";
import type { TaskHost } from "../../src/tasks/task-host.ts";
import { variableName } from "../../src/engine/definition/variable-name.ts";
import { aComponent } from "./a-workflow.ts";
import { eventually } from "./eventually.ts";

export const gatedTask = (key: string) => aComponent("sys-tasks", key, { type: "7", config: {} });

interface Held {
  key: string;
  end: (data: JsonValue | undefined) => void;
  fail: (error: Error) => void;
}

export interface GatedTasks extends TaskHost {
  /** Execution keys, in the order the tasks began: the same key twice is an effect made twice. */
  readonly begun: readonly { key: string; executionKey: string }[];
  waiting(key: string): Promise<void>;
  open(key: string, data?: JsonValue): void;
  fail(key: string): void;
}

export function gatedTasks(): GatedTasks {
  const begun: { key: string; executionKey: string }[] = [];
  let held: Held[] = [];
  const take = (key: string): Held => {
    // The newest: one that an earlier test left behind must not be taken for it.
    const found = held.findLast((it) => it.key === key);
    if (found === undefined) throw new Error(`task '${key}' is not under way`);
    held = held.filter((it) => it !== found);
    return found;
  };
  return {
    begun,
    isEffectful: () => true,
    async run({ definition, executionKey }) {
      const { key } = definition;
      begun.push({ key, executionKey });
      const data = await new Promise<JsonValue | undefined>((end, fail) => {
        held.push({ key, end, fail });
      });
      return { name: variableName(key), response: data, data };
    },
    waiting: (key) =>
      eventually(() => {
        if (!held.some((it) => it.key === key)) throw new Error(`task '${key}' is not under way`);
      }),
    open: (key, data) => take(key).end(data),
    fail: (key) =>
      take(key).fail(
        new StepFailed({
          code: `Task:Unknown:${key}`,
          layer: "Task",
          message: `Task '${key}' failed.`,
          task: key,
          retryable: false,
        }),
      ),
  };
}
