/**
 * Carries out what the engine decides: performs each step a run waits for, writes before anything
 * leaves the process, and writes the end.
 *
 * Work without effects outside is only in memory until the end, so a whole chain of transitions is
 * one commit and a crash repeats nothing but thinking. Before a task that reaches outside, the run
 * is written with a job that names this node; each such task's result is journaled before the run
 * goes on. Whoever takes the job over starts from the last checkpoint and finds the results there.
 */
import { ComponentKind } from "../engine/component-kind.ts";
import type { Component } from "../engine/component.ts";
import type { TaskBinding } from "../engine/definition/model.ts";
import { stringifyJson } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { JobType } from "../engine/job-name.ts";
import type { SchemaError } from "../engine/json-schema.ts";
import { Problem } from "../engine/problem.ts";
import { StepFailed, type TaskFailure } from "../engine/task-failure.ts";
import {
  advance,
  type Happened,
  type TaskOutcome,
  type Todo,
} from "../engine/transition/advance.ts";
import { checkpointOf, type QueuedRequest } from "../engine/transition/checkpoint.ts";
import { nothingPending, type Run, type Tools } from "../engine/transition/run.ts";
import type { ScriptHost } from "../scripting/script-host.ts";
import type { InstanceStore, JobToAdd, RunWrite } from "../storage/instance-store.ts";
import type { TaskJournal } from "../storage/task-journal.ts";
import type { TaskHost } from "../tasks/task-host.ts";
import type { Catalogue } from "./catalogue.ts";
import type { FaultPoint } from "./fault-point.ts";
import { resolveReference } from "./load-program.ts";
import { scriptContext } from "./script-context.ts";

export interface ExecutePorts {
  catalogue: Catalogue;
  store: InstanceStore;
  journal: TaskJournal;
  scripts: ScriptHost;
  tasks: TaskHost;
  tools: Tools;
  /** Jobs were written that somebody will have to do. */
  noticed: (jobs: readonly JobToAdd[]) => void;
  /** This node, as jobs name it. */
  nodeId: string;
  faultPoint: FaultPoint;
}

/** A run under way, and how far it is on disk. */
export interface Execution {
  run: Run;
  /** As last read or written. */
  stored: Instance | undefined;
  /** The job that stands for this run; none while everything is in memory. */
  jobId: string | undefined;
  request: QueuedRequest;
  traceId: string | undefined;
  /** Ends a queued run early; a run somebody waits for goes on to its end. */
  signal: AbortSignal | undefined;
}

export type Executed =
  | { kind: "done"; instance: Instance }
  /** The payload does not fit the master schema; nothing was written. */
  | { kind: "refused"; errors: readonly SchemaError[] }
  /** Somebody else changed the instance meanwhile; nothing more was written. */
  | { kind: "overtaken" }
  | { kind: "keyInUse" };

export async function executeRun(
  ports: ExecutePorts,
  execution: Execution,
  first: Happened = { kind: "begun" },
): Promise<Executed> {
  const { tools } = ports;
  let current = execution;
  let step = advance(current.run, first, tools);
  while (step.kind === "waiting") {
    current = { ...current, run: step.run };
    if (step.todo.kind === "tasks") {
      const definitions = await definitionsOf(ports, step.todo.bindings);
      if (!(definitions instanceof StepFailed) && definitions.some(ports.tasks.isEffectful)) {
        const written = await writeCheckpoint(ports, current);
        if (!("run" in written)) return written;
        current = written;
      }
    }
    const happened = await perform(ports, current, step.todo);
    step = advance(current.run, happened, tools);
  }
  if (step.kind === "refused") return { kind: "refused", errors: step.errors };
  return writeEnd(ports, { ...current, run: step.run });
}

// --- performing ------------------------------------------------------------------------------

/** The only place where a step's failure becomes data; what is nobody's failure is thrown on. */
async function perform(ports: ExecutePorts, execution: Execution, todo: Todo): Promise<Happened> {
  const { run } = execution;
  try {
    switch (todo.kind) {
      case "map": {
        const value = await ports.scripts.map(todo.transition.mapping!, scriptContext(run));
        return { kind: "mapped", value };
      }
      case "rules": {
        const context = scriptContext(run);
        for (const candidate of todo.candidates) {
          const holds =
            candidate.rule === undefined || (await ports.scripts.holds(candidate.rule, context));
          if (holds) return { kind: "chosen", transition: candidate };
        }
        return { kind: "chosen", transition: undefined };
      }
      case "timers": {
        const context = scriptContext(run);
        const timers = [];
        for (const { key, timer } of todo.transitions) {
          if (timer === undefined) continue;
          const schedule = await ports.scripts.schedule(timer, context);
          timers.push({ sourceState: run.instance.current.key, transitionKey: key, ...schedule });
        }
        return { kind: "scheduled", timers };
      }
      case "tasks":
        return { kind: "tasksDone", outcomes: await runTasks(ports, execution, todo) };
    }
  } catch (error) {
    const failure = failureIn(error);
    if (failure === undefined) throw error;
    return { kind: "failed", failure };
  }
}

function failureIn(error: unknown): TaskFailure | undefined {
  if (error instanceof StepFailed) return error.failure;
  // A definition that is referred to and not published: the run cannot go on, the service can.
  if (error instanceof Problem) {
    return { code: error.code, layer: "Pipeline", message: error.message, retryable: false };
  }
  return undefined;
}

type TasksTodo = Extract<Todo, { kind: "tasks" }>;

/** Side by side; the first failure cancels the others and decides for the group. */
async function runTasks(
  ports: ExecutePorts,
  execution: Execution,
  todo: TasksTodo,
): Promise<TaskOutcome[]> {
  const cancel = new AbortController();
  const signal =
    execution.signal === undefined
      ? cancel.signal
      : AbortSignal.any([execution.signal, cancel.signal]);
  const outcomes = todo.bindings.map(async (binding, position) => {
    const executionKey = `${execution.run.hop.recordId}:${todo.hook}:${todo.group}:${position}`;
    try {
      return await runTask(ports, execution, binding, executionKey, signal);
    } catch (error) {
      cancel.abort();
      throw error;
    }
  });
  const results = await Promise.allSettled(outcomes);
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return results.map((result) => (result as PromiseFulfilledResult<TaskOutcome>).value);
}

async function runTask(
  ports: ExecutePorts,
  execution: Execution,
  binding: TaskBinding,
  executionKey: string,
  signal: AbortSignal,
): Promise<TaskOutcome> {
  const { tasks, journal, faultPoint } = ports;
  const { run } = execution;
  const definition = await definitionOf(ports, binding);
  const invocation = { binding, definition, run, executionKey, signal };
  if (!tasks.isEffectful(definition)) return tasks.run(invocation);

  const entry = { instanceId: run.instance.id, executionKey };
  const before = await journal.find(entry);
  if (before !== undefined) return before;
  const startedAt = ports.tools.now();
  faultPoint("before-task");
  const outcome = await tasks.run(invocation);
  faultPoint("after-task");
  faultPoint("before-journal");
  const kept = await journal.add({
    ...entry,
    taskKey: definition.key,
    outcome,
    startedAt,
    finishedAt: ports.tools.now(),
    jobId: execution.jobId!,
    owner: ports.nodeId,
  });
  faultPoint("after-journal");
  // The lease is gone: another node goes on, and does this task again with the same idempotency key.
  if (!kept) throw new Overtaken();
  return outcome;
}

/** Another node has this run now. Nothing to repair here: every write of ours is refused. */
export class Overtaken extends Error {
  override readonly name = "Overtaken";
}

const definitionOf = async (ports: ExecutePorts, { task }: TaskBinding): Promise<Component> =>
  ports.catalogue.load(await resolveReference(ports.catalogue, task, ComponentKind.task));

/** An unknown task is no reason to checkpoint; running it will report it. */
async function definitionsOf(ports: ExecutePorts, bindings: readonly TaskBinding[]) {
  try {
    return await Promise.all(bindings.map((binding) => definitionOf(ports, binding)));
  } catch (error) {
    if (error instanceof Problem) return new StepFailed(failureIn(error)!);
    throw error;
  }
}

// --- writing ---------------------------------------------------------------------------------

async function writeCheckpoint(
  ports: ExecutePorts,
  execution: Execution,
): Promise<Execution | Executed> {
  const { run, request } = execution;
  const jobId = execution.jobId ?? ports.tools.uuid();
  const payload = stringifyJson({ request, checkpoint: checkpointOf(run) });
  const busy: Run = { ...run, instance: { ...run.instance, status: "B" } };
  const job = {
    id: jobId,
    type: JobType.transition,
    instanceId: run.instance.id,
    sourceState: run.hop.from,
    transitionKey: run.hop.transition.key,
    payload,
    owner: ports.nodeId,
  };
  ports.faultPoint("before-checkpoint");
  const result = await write(
    ports,
    { ...execution, run: busy },
    {
      records: [...run.pending.records, run.record],
      ...(execution.jobId === undefined
        ? { addJobs: [...timerJobs(run, ports.tools), job] }
        : { checkpoint: { jobId, payload } }),
    },
  );
  if (result.kind !== "done") return result;
  ports.faultPoint("after-checkpoint");
  const { instance } = result;
  return {
    ...execution,
    jobId,
    stored: instance,
    run: { ...run, instance, pending: nothingPending },
  };
}

async function writeEnd(ports: ExecutePorts, execution: Execution): Promise<Executed> {
  const { run, jobId, stored } = execution;
  const { idempotencyKey, instance } = run;
  // A start arms the workflow's timeout, unless the instance has ended already.
  const { timeout } = run.program.workflow;
  const isStart = stored === undefined || execution.request.kind === "start";
  const armTimeout = isStart && timeout !== undefined && instance.status !== "C";
  const addJobs = timerJobs(run, ports.tools);
  if (armTimeout) {
    const { uuid } = ports.tools;
    const delayMs = timeout.durationMs;
    addJobs.push({ id: uuid(), type: JobType.timeout, instanceId: instance.id, delayMs });
  }
  ports.faultPoint(stored === undefined ? "before-start-write" : "before-settle-write");
  const result = await write(ports, execution, {
    records: run.pending.records,
    addJobs,
    removeJob: jobId,
    outcome: idempotencyKey === undefined ? undefined : { seq: run.firstSeq },
  });
  ports.faultPoint(stored === undefined ? "after-start-write" : "after-settle-write");
  return result;
}

async function write(
  ports: ExecutePorts,
  { run, stored, traceId }: Execution,
  what: Pick<RunWrite, "records"> &
    Partial<Pick<RunWrite, "addJobs" | "removeJob" | "checkpoint" | "outcome">>,
): Promise<Executed> {
  const { instance, pending } = run;
  const base = stored?.rev ?? 0;
  const runWrite: RunWrite = {
    addJobs: [],
    ...what,
    instance: { ...instance, rev: base },
    dataChanged: instance.data !== stored?.data,
    dataChanges: pending.dataChanges,
    leftStates: pending.leftStates,
    incident:
      pending.incident === undefined
        ? undefined
        : { ...pending.incident, id: ports.tools.uuid(), traceId },
  };
  if (stored === undefined) {
    const result = await ports.store.start(runWrite);
    if (result === "keyInUse") return { kind: "keyInUse" };
  } else if (!(await ports.store.write(runWrite))) return { kind: "overtaken" };
  if (runWrite.addJobs.length > 0) ports.noticed(runWrite.addJobs);
  return { kind: "done", instance: { ...instance, rev: base + 1 } };
}

const timerJobs = (run: Run, { uuid }: Tools): JobToAdd[] =>
  run.pending.timers.map((timer) => ({
    id: uuid(),
    type: JobType.scheduled,
    instanceId: run.instance.id,
    ...timer,
  }));
