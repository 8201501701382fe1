/** Runs one task in a workflow of its own, and tells what its scripts saw. */
import { expect } from "vitest";
import { variableName } from "../../src/engine/definition/variable-name.ts";
import { slot } from "./a-script-slot.ts";
import { aComponent, aWorkflow, defaultDomain } from "./a-workflow.ts";
import { eventually } from "./eventually.ts";
import { instancesOf, type InstanceBody } from "./instances-of.ts";
import type { TestRuntime } from "./start-runtime.ts";

export interface TaskToRun {
  /** Key of the task and of the workflow that runs it. */
  key: string;
  type: string;
  config: object;
  /** Body of the input handler, which has `task` and `context`. */
  input?: string;
  /** Data of the instance before the task. */
  data?: object;
  instanceKey?: string;
  headers?: Record<string, string>;
  /** `sync=false`: nobody waits for the transition but the test. */
  query?: string;
}

export interface TaskRun {
  id: string;
  instance: InstanceBody;
  /** The `StandardTaskResponse`; undefined when the task got none. */
  response: Record<string, unknown> | undefined;
}

/** `data` of the response. */
export const dataOf = ({ response }: TaskRun): unknown => (response ?? {})["data"];

export const aTask = (key: string, type: string, config: object) =>
  aComponent("sys-tasks", key, { type, config });

export const taskRef = (key: string) => ({
  key,
  domain: defaultDomain,
  flow: "sys-tasks",
  version: "latest",
});

export async function runTask(app: TestRuntime, wanted: TaskToRun): Promise<TaskRun> {
  const { key, type, config, input = "", ...more } = wanted;
  const mapping = slot(`
    export function InputHandler(task, context) { ${input}; return {}; }
    export function OutputHandler(context) {
      return { Data: { response: context.TaskResponse[${JSON.stringify(variableName(key))}] } };
    }`);
  return run(app, { ...more, key, task: aTask(key, type, config), mapping });
}

/** The same with a mapping of one's own; what it merges is in the instance's data. */
export async function run(
  app: TestRuntime,
  given: {
    key: string;
    task: object;
    mapping: object;
    data?: object;
    instanceKey?: string | undefined;
    headers?: Record<string, string> | undefined;
    query?: string | undefined;
  },
): Promise<TaskRun> {
  const { key, task, mapping, data = {}, instanceKey, headers, query = "sync=true" } = given;
  await app.publish(
    task,
    aWorkflow(key)
      .state("open")
      .transition("go", {
        to: "done",
        onExecutionTasks: [{ order: 1, task: taskRef(key), mapping }],
      })
      .state("done")
      .transition("again"),
  );
  const flow = instancesOf(app, key);
  const id = await flow.begin({ key: instanceKey, attributes: data });
  const sent = { query, ...(headers === undefined ? {} : { headers }) };
  const answer = await flow.send(id, "go", {}, sent);
  expect(answer).toMatchObject({ status: query === "sync=true" ? 200 : 202 });
  const instance = await eventually(async () => {
    const found = await flow.read(id);
    expect(found.metadata.status).not.toBe("B");
    return found;
  });
  return {
    id,
    instance,
    response: instance.attributes?.["response"] as TaskRun["response"],
  };
}
