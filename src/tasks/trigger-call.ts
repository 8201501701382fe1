/** What starting and moving instances have in common beyond `flow-call.ts`. */
import type { JsonValue } from "../engine/exact-json.ts";
import { asWritten } from "./as-written.ts";
import { type FlowTask, notAsked, textsIn } from "./flow-call.ts";
import type { TaskCall } from "./task-type.ts";

/** Instances that start or move each other in a circle would do so for ever. */
export const mostTriggers = 20;

export interface Trigger {
  readonly triggerDepth: number;
  readonly sync: boolean;
  readonly tags: readonly string[];
  readonly body: JsonValue | undefined;
}

/** `waits`: whether the outcome is awaited unless the config says otherwise. */
export function triggerOf(call: TaskCall, task: FlowTask, waits = false): Trigger {
  const { config, context } = call;
  const triggerDepth = context.triggerDepth + 1;
  if (triggerDepth > mostTriggers) {
    const message = `${mostTriggers} tasks that start or move instances led to it, each caused by the one before. Look for workflows that trigger each other in a circle.`;
    throw notAsked(call, task, "TooDeep", message);
  }
  return {
    triggerDepth,
    sync: (config["sync"] ?? waits) === true,
    tags: textsIn(config, "tags"),
    body: asWritten(call, "body") ?? undefined,
  };
}
