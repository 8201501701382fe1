/** Task types 8 and 9: definitions may have them, and nothing can run them. */
import { StepFailed } from "../engine/task-failure.ts";
import type { TaskType } from "./task-type.ts";

const notRunnable = (name: string, code: string, remedy: string): TaskType => ({
  name,
  isEffectful: () => false,
  run: async (_ports, { definition: { key } }) => {
    throw new StepFailed({
      code: "Task:400009",
      layer: "Task",
      task: key,
      taskType: name,
      message: `Task '${key}' has the type ${code} (${name.toLowerCase()}), which cannot run. ${remedy}`,
      retryable: false,
    });
  },
});

export const conditionTask = notRunnable(
  "Condition",
  "8",
  "Use the rule of an automatic transition.",
);
export const timerTask = notRunnable("Timer", "9", "Use a scheduled transition.");
