/**
 * Runs a group of tasks: side by side, each as often as its error boundary wants, and what reaches
 * outside through the journal, so that neither a crash nor a retry repeats what has succeeded.
 */
import { ComponentKind } from "../engine/component-kind.ts";
import type { Component } from "../engine/component.ts";
import type { TaskBinding } from "../engine/definition/model.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import { isJsonObject } from "../engine/exact-json.ts";
import { isSecretName, masked } from "../engine/mask-secrets.ts";
import { Problem } from "../engine/problem.ts";
import { StepFailed, type TaskFailure } from "../engine/task-failure.ts";
import type { Failed, TaskOutcome, Todo } from "../engine/transition/happenings.ts";
import { retryDelay } from "../engine/transition/boundary.ts";
import type { Run } from "../engine/transition/run.ts";
import type { JournalEntry } from "../storage/task-journal.ts";
import type { SeenByScript, TaskContext, TaskInvocation, TaskPart } from "../tasks/task-host.ts";
import type { ExecutePorts, Execution } from "./execution.ts";
import { resolveReference } from "./load-program.ts";
import { scriptRequest } from "./script-request.ts";

export type TasksTodo = Extract<Todo, { kind: "tasks" }>;

export type GroupEnd =
  | { kind: "tasksDone"; outcomes: readonly TaskOutcome[] }
  | Failed
  /** Some task is to be tried again, but not soon: the run waits as a job, not in memory. */
  | { kind: "postponed"; delayMs: number; failedAttempts: Run["failedAttempts"] };

/** The run's job is no longer ours: another node has it now, or it was ended or cancelled. */
export class Overtaken extends Error {
  override readonly name = "Overtaken";
  /** How far it had got. */
  readonly execution: Execution;

  constructor(execution: Execution) {
    super("The job of the run is no longer this node's.");
    this.execution = execution;
  }
}

/** Longer than this nobody is kept waiting in memory. */
const longestWaitMs = 5000;

/** The first failure cancels the others and decides for the group. */
export async function runTasks(
  ports: ExecutePorts,
  execution: Execution,
  { hook, group, bindings }: TasksTodo,
): Promise<GroupEnd> {
  const cancel = new AbortController();
  const signal =
    execution.signal === undefined
      ? cancel.signal
      : AbortSignal.any([execution.signal, cancel.signal]);
  let first: { binding: TaskBinding; end: Extract<TaskEnd, { kind: "failed" }> } | undefined;
  const ends = await Promise.allSettled(
    bindings.map(async (binding, position): Promise<TaskEnd> => {
      const place = { hook, group, position };
      try {
        const end = await runTask({ ports, execution, binding, place, signal });
        if (end.kind === "failed") {
          first ??= { binding, end };
          cancel.abort();
        }
        return end;
      } catch (error) {
        cancel.abort();
        throw error;
      }
    }),
  );
  if (first === undefined) {
    const broken = ends.find((end) => end.status === "rejected");
    if (broken !== undefined) throw broken.reason;
  }
  const known = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
  const outcomes = known.flatMap((end) => ("outcome" in end && end.outcome ? [end.outcome] : []));
  if (first !== undefined) {
    const { binding, end } = first;
    const { failure, retries, outcome } = end;
    const isTolerated = outcome !== undefined && ports.unhandledFailure === "continue";
    return { kind: "failed", failure, binding, retries, outcomes, isTolerated };
  }
  const postponed = known.filter((end) => end.kind === "postponed");
  if (postponed.length === 0) return { kind: "tasksDone", outcomes };
  return {
    kind: "postponed",
    delayMs: Math.min(...postponed.map((end) => end.delayMs)),
    failedAttempts: Object.fromEntries(postponed.map((end) => [end.position, end.tries])),
  };
}

type TaskEnd =
  | { kind: "done"; outcome: TaskOutcome }
  | { kind: "failed"; failure: TaskFailure; retries: number; outcome: TaskOutcome | undefined }
  | { kind: "postponed"; delayMs: number; position: number; tries: number };

interface OneTask {
  ports: ExecutePorts;
  execution: Execution;
  binding: TaskBinding;
  place: { hook: string; group: number; position: number };
  signal: AbortSignal;
}

type Result = JournalEntry["result"];

const failureIn = (result: Result): TaskFailure | undefined =>
  "failure" in result ? result.failure : result.outcome.failure;

async function runTask(task: OneTask): Promise<TaskEnd> {
  const { ports, execution, binding, place, signal } = task;
  const { run } = execution;
  const begun = await begin(task);
  if ("kind" in begun) return begun;
  let { tries, last, sinceMs } = begun;
  for (;;) {
    if (last !== undefined) {
      const failure = failureIn(last)!;
      const outcome = "outcome" in last ? last.outcome : undefined;
      const retries = tries - 1;
      const delayMs = retryDelay(run, binding, failure, retries, ports.dice);
      if (delayMs === undefined) return { kind: "failed", failure, retries, outcome };
      const left = delayMs - sinceMs;
      if (left > longestWaitMs) {
        return { kind: "postponed", delayMs: left, position: place.position, tries };
      }
      if (left > 0) await pause(left, signal);
      sinceMs = 0;
    }
    tries += 1;
    const result = await begun.attempt(tries);
    if (failureIn(result) === undefined && "outcome" in result) {
      return { kind: "done", outcome: result.outcome };
    }
    last = result;
  }
}

interface Begun {
  /** Made before, in vain. */
  tries: number;
  last: Result | undefined;
  /** How long ago the last one ended. */
  sinceMs: number;
  attempt: (tries: number) => Promise<Result>;
}

async function begin(task: OneTask): Promise<Begun | TaskEnd> {
  const { ports, execution, binding, place, signal } = task;
  const { run, traceId } = execution;
  const definition = await definitionOf(ports, binding);
  if (definition instanceof StepFailed) {
    return { kind: "failed", failure: definition.failure, retries: 0, outcome: undefined };
  }
  const executionKey = `${run.hop.recordId}:${place.hook}:${place.group}:${place.position}`;
  const invocation: TaskInvocation = {
    binding,
    definition,
    context: taskContext(run, traceId),
    executionKey,
    signal,
    request: (script: ScriptCode, seen?: Partial<SeenByScript>) =>
      scriptRequest(ports, { run: { ...run, ...seen }, signal, traceId }, script),
  };
  const failedTries = run.failedAttempts[place.position] ?? 0;
  const plain = {
    tries: failedTries,
    last: undefined,
    sinceMs: 0,
    attempt: () => invoke(ports, invocation),
  };
  if (!ports.tasks.isEffectful(definition, binding.mapping)) return plain;

  const { id: jobId, attempts } = execution.job!;
  const { nodeId: owner, journal } = ports;
  const { retry = 0 } = execution;
  const key = { instanceId: run.instance.id, executionKey, jobId, attempts, owner, retry };
  const before = await journal.find(key);
  switch (before.kind) {
    case "done":
      return before;
    case "lost":
      throw new Overtaken(execution);
    case "failed": {
      const { tries: made, sinceMs, result } = before;
      return { tries: made, sinceMs, last: result, attempt };
    }
    case "new":
      return { ...plain, tries: 0, attempt };
  }

  function attempt(tries: number): Promise<Result> {
    const work = () => invoke(ports, { ...invocation, once });
    return journaled({ ...key, taskKey: invocation.definition.key, tries }, work);
  }

  async function once(
    { suffix, taskKey }: TaskPart,
    work: () => Promise<TaskOutcome>,
  ): Promise<TaskOutcome> {
    const part = { ...key, executionKey: `${executionKey}${suffix}` };
    const found = await journal.find(part);
    if (found.kind === "done") return found.outcome;
    if (found.kind === "lost") throw new Overtaken(execution);
    const result = await journaled({ ...part, taskKey, tries: 1 }, async () => ({
      outcome: await work(),
    }));
    return (result as { outcome: TaskOutcome }).outcome;
  }

  async function journaled(
    entry: Omit<JournalEntry, "result" | "startedAt" | "finishedAt">,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const startedAt = ports.tools.now();
    ports.faultPoint("before-task");
    const result = await work();
    ports.faultPoint("after-task");
    const finishedAt = ports.tools.now();
    const kept = await journal.add({
      ...entry,
      result: withoutSecrets(result),
      startedAt,
      finishedAt,
    });
    ports.faultPoint("after-journal");
    // Another node has the job: it goes on, and does this task again with the same idempotency key.
    if (!kept) throw new Overtaken(execution);
    return result;
  }
}

/** A task that could not be carried out is a result too; what is nobody's failure is thrown on. */
async function invoke({ tasks }: ExecutePorts, invocation: TaskInvocation): Promise<Result> {
  try {
    return { outcome: await tasks.run(invocation) };
  } catch (error) {
    // Cancelled, not failed: the reason is elsewhere.
    invocation.signal.throwIfAborted();
    if (error instanceof StepFailed) return { failure: error.failure };
    // A definition that a task refers to and that is not published.
    if (!(error instanceof Problem)) throw error;
    const { code, message } = error;
    const task = invocation.definition.key;
    return { failure: { code, layer: "Task", task, message, retryable: false } };
  }
}

const taskContext = (run: Run, traceId: string | undefined): TaskContext => ({
  domain: run.instance.domain,
  instance: run.instance,
  transitionKey: run.hop.transition.key,
  body: run.body,
  taskResponses: run.taskResponses,
  metaData: run.metaData,
  author: run.author,
  headers: run.headers,
  roles: run.roles,
  traceId,
  triggerDepth: run.triggerDepth,
});

export async function definitionOf(
  { catalogue }: Pick<ExecutePorts, "catalogue">,
  { task }: TaskBinding,
): Promise<Component | StepFailed> {
  try {
    return await catalogue.load(await resolveReference(catalogue, task, ComponentKind.task));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return new StepFailed({
      code: `Task:Unknown:${task.key}`,
      layer: "Task",
      task: task.key,
      message: error.message,
      retryable: false,
    });
  }
}

/** Cookies and tokens that an answer sets are for the scripts of this run, not for the journal. */
function withoutSecrets(result: Result): Result {
  if (!("outcome" in result) || !isJsonObject(result.outcome.response)) return result;
  const { response } = result.outcome;
  const { headers } = response;
  if (!isJsonObject(headers)) return result;
  const clean = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, isSecretName(name) ? masked : value]),
  );
  return { outcome: { ...result.outcome, response: { ...response, headers: clean } } };
}

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
