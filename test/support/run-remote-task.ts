/** One task that calls a server, in a workflow of its own, and what a caller sees of it afterwards. */
import { output } from "./a-script-slot.ts";
import { aTask, run } from "./run-task.ts";
import type { InstanceBody } from "./instances-of.ts";
import type { TestRuntime } from "./start-runtime.ts";

export interface RemoteRun {
  id: string;
  instance: InstanceBody;
  /** What the mapping's output handler has merged, beside the data of before. */
  attributes: Record<string, unknown>;
}

/** A mapping that keeps the task's whole response, as scripts see it, under `seen`. */
export const keepResponse = output("return { Data: { seen: context.Body } };");

let runs = 0;

/** `data` is what the instance starts with. */
export async function runRemoteTask(
  app: TestRuntime,
  type: string,
  config: object,
  mapping: object = keepResponse,
  data: object = {},
): Promise<RemoteRun> {
  runs += 1;
  const key = `remote-${type}-${runs}`;
  const { id, instance } = await run(app, { key, task: aTask(key, type, config), mapping, data });
  return { id, instance, attributes: instance.attributes ?? {} };
}
