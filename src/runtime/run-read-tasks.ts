/**
 * The tasks of a function or an extension. They are those of hooks, run side by side within a group
 * and group after group; but nobody's state changes by their outputs, so nothing is journaled and
 * nothing is tried again: the first failure is the caller's to hear.
 */
import type { TaskBinding, TaskGroup } from "../engine/definition/model.ts";
import type { Reference } from "../engine/definition/reference.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import { Problem } from "../engine/problem.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { conflictIn, joinBody } from "../engine/transition/merge-into-run.ts";
import type { TaskOutcome } from "../engine/transition/happenings.ts";
import type { ScriptRequest } from "../scripting/script-host.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import type { ResponseValue } from "../scripting/contract.ts";
import type { TaskHost } from "../tasks/task-host.ts";
import type { Catalogue } from "./catalogue.ts";
import { readContext, type Reading } from "./read-context.ts";
import { definitionOf } from "./run-tasks.ts";

export interface ReadTaskPorts {
  readonly catalogue: Catalogue;
  readonly tasks: TaskHost;
  readonly uuid: () => string;
}

export interface ReadTasks {
  readonly groups: readonly TaskGroup[];
  readonly helpers: readonly Reference[];
}

export interface TasksRun {
  /** What scripts that come after them see. */
  readonly reading: Reading;
  /** The last task's own, and what its output handler answered. */
  readonly last: TaskOutcome | undefined;
  readonly reply: ResponseValue | undefined;
}

/** Throws `StepFailed` for a task that could not be carried out, or whose result is a failure. */
export async function runReadTasks(
  ports: ReadTaskPorts,
  { groups, helpers }: ReadTasks,
  start: Reading,
): Promise<TasksRun> {
  const runId = ports.uuid();
  let reading = start;
  let last: Ran | undefined;
  for (const [group, { tasks }] of groups.entries()) {
    const ran = await runGroup(ports, tasks, { reading, helpers, place: `${runId}:${group}` });
    last = ran.at(-1);
    reading = afterGroup(
      reading,
      ran.map(({ outcome }) => outcome),
    );
  }
  return { reading, last: last?.outcome, reply: last?.reply };
}

export const scriptOf = (
  reading: Reading,
  helpers: readonly Reference[],
  script: ScriptCode,
): ScriptRequest => ({
  script,
  helpers,
  context: readContext(reading),
  signal: reading.asker.signal,
});

interface Ran {
  readonly outcome: TaskOutcome;
  readonly reply: ResponseValue | undefined;
}

interface Scene {
  readonly reading: Reading;
  readonly helpers: readonly Reference[];
  readonly place: string;
}

/** The first failure cancels the others and is the group's. */
async function runGroup(
  ports: ReadTaskPorts,
  bindings: readonly TaskBinding[],
  scene: Scene,
): Promise<Ran[]> {
  const cancel = new AbortController();
  const signal = AbortSignal.any([scene.reading.asker.signal, cancel.signal]);
  let first: { error: unknown } | undefined;
  const ended = await Promise.allSettled(
    bindings.map(async (binding, position) => {
      try {
        const place = `${scene.place}:${position}`;
        return await runOne(ports, binding, { ...scene, place }, signal);
      } catch (error) {
        first ??= { error };
        cancel.abort();
        throw error;
      }
    }),
  );
  if (first !== undefined) throw first.error;
  return ended.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
}

async function runOne(
  ports: ReadTaskPorts,
  binding: TaskBinding,
  { reading, helpers, place }: Scene,
  signal: AbortSignal,
): Promise<Ran> {
  const definition = await definitionOf(ports, binding);
  if (definition instanceof StepFailed) throw definition;
  let reply: ResponseValue | undefined;
  const { asker, domain, instance, body, taskResponses, metaData } = reading;
  const { viewer, headers, traceId, triggerDepth } = asker;
  const outcome = await asStepFailure(binding, () =>
    ports.tasks.run({
      binding,
      definition,
      context: {
        domain,
        instance,
        transitionKey: undefined,
        body,
        taskResponses,
        metaData,
        author: viewer.author,
        roles: viewer.roles,
        headers,
        traceId,
        triggerDepth,
      },
      executionKey: place,
      signal,
      request: (script, seen) => ({
        ...scriptOf({ ...reading, ...seen }, helpers, script),
        signal,
      }),
      onReply: (value) => {
        reply = value;
      },
    }),
  );
  if (outcome.failure !== undefined) throw new StepFailed(outcome.failure);
  return { outcome, reply };
}

/** A definition that a task refers to and that is not published is the task's failure. */
async function asStepFailure<T>({ task }: TaskBinding, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { code, message } = error;
    const failure = { code, layer: "Task", task: task.key, message, retryable: false } as const;
    throw new StepFailed(failure, { cause: error });
  }
}

function afterGroup(before: Reading, outcomes: readonly TaskOutcome[]): Reading {
  const conflict = conflictIn(outcomes);
  if (conflict !== undefined) throw new StepFailed(conflict);
  let next = before;
  for (const { name, response, data, metaData, body, responses } of outcomes) {
    if (metaData !== undefined) next = { ...next, metaData: { ...next.metaData, ...metaData } };
    if (body !== undefined) next = { ...next, body: joinBody(next.body, body) };
    const given: Record<string, JsonValue> = { ...responses };
    if (response !== undefined) {
      given[name] = response;
      next = { ...next, body: joinBody(next.body, response) };
    }
    next = {
      ...next,
      taskResponses: { ...next.taskResponses, ...given },
      outputResponses: { ...next.outputResponses, [name]: data ?? null },
    };
  }
  return next;
}
