/**
 * Carries out what the engine decides: performs each step a run waits for, writes before anything
 * leaves the process, and writes the end.
 *
 * Work without effects outside is only in memory until the end, so a whole chain of transitions is
 * one commit and a crash repeats nothing but thinking. A run that is about to reach outside is
 * written with a job that names this node, and goes on as that job: with its budget, its retries and
 * its takeover when the node dies, whoever waits for it (`run-job.ts`). Each such task's result is
 * journaled before the run goes on. Whoever takes the job over starts from the last checkpoint and
 * finds the results there.
 */
import { ComponentKind } from "../engine/component-kind.ts";
import type { Component } from "../engine/component.ts";
import type { TaskBinding, Timeout } from "../engine/definition/model.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
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
import type { Schedule, ScriptHost, ScriptRequest } from "../scripting/script-host.ts";
import type { EndsOthers, InstanceStore, JobToAdd, RunWrite } from "../storage/instance-store.ts";
import type { Job } from "../storage/job-store.ts";
import type { TaskJournal } from "../storage/task-journal.ts";
import type { SeenByScript, TaskHost } from "../tasks/task-host.ts";
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
  held: HeldJobs;
  /** This node, as jobs name it. */
  nodeId: string;
  faultPoint: FaultPoint;
  /** Trouble that does not change the outcome. */
  onTrouble: (event: string, error: unknown) => void;
}

/**
 * The jobs this node has in hand, from before they are written. A job that is the node's on disk and
 * not among them was left behind by a write nobody knew the outcome of; the job runner frees it.
 */
export interface HeldJobs {
  hold(jobId: string): void;
  letGo(jobId: string): void;
}

/** A run under way, and how far it is on disk. */
export interface Execution {
  run: Run;
  /** As last read or written. */
  stored: Instance | undefined;
  /** The job that stands for this run; none while everything is in memory. */
  job: Job | undefined;
  /** The timer that has fired: done with the run's first write. */
  timerId?: string | undefined;
  /** Where the last checkpoint stands; see `placeOf`. */
  checkpoint?: string | undefined;
  request: QueuedRequest;
  traceId: string | undefined;
  /** Ends the run early: once aborted, it writes nothing more. */
  signal?: AbortSignal | undefined;
}

export type JobExecution = Execution & { stored: Instance; job: Job };

export type Executed =
  | { kind: "done"; instance: Instance }
  /** About to reach outside, and on disk: goes on as a job, which this node holds. */
  | { kind: "becameJob"; execution: JobExecution }
  /** The payload does not fit the master schema; nothing was written. */
  | { kind: "refused"; errors: readonly SchemaError[] }
  /** Somebody else changed the instance meanwhile, or has the run now; nothing more was written. */
  | { kind: "overtaken" }
  | { kind: "keyInUse" };

export async function executeRun(ports: ExecutePorts, execution: Execution): Promise<Executed> {
  try {
    return await execute(ports, execution);
  } catch (error) {
    if (error instanceof Overtaken) return { kind: "overtaken" };
    throw error;
  }
}

async function execute(ports: ExecutePorts, execution: Execution): Promise<Executed> {
  const { tools } = ports;
  let current = execution;
  let step = advance(current.run, { kind: "begun" }, tools);
  while (step.kind === "waiting") {
    current = { ...current, run: step.run };
    if (step.todo.kind === "tasks" && current.checkpoint !== placeOf(step.run)) {
      const definitions = await definitionsOf(ports, step.todo.bindings);
      if (!(definitions instanceof StepFailed) && definitions.some(ports.tasks.isEffectful)) {
        const written = await writeCheckpoint(ports, current);
        if (!("run" in written)) return written;
        if (current.job === undefined) return { kind: "becameJob", execution: written };
        current = written;
      }
    }
    const happened = await perform(ports, current, step.todo);
    current.signal?.throwIfAborted();
    step = advance(current.run, happened, tools);
  }
  if (step.kind === "refused") return { kind: "refused", errors: step.errors };
  return writeEnd(ports, { ...current, run: step.run });
}

/** Which group of tasks a run stands before. */
export const placeOf = ({ hop, phase, group }: Run): string => `${hop.recordId}:${phase}:${group}`;

// --- performing ------------------------------------------------------------------------------

/** The only place where a step's failure becomes data; what is nobody's failure is thrown on. */
async function perform(ports: ExecutePorts, execution: Execution, todo: Todo): Promise<Happened> {
  const { run } = execution;
  try {
    switch (todo.kind) {
      case "map": {
        const value = await ports.scripts.map(scriptRequest(execution, todo.transition.mapping!));
        return { kind: "mapped", value };
      }
      case "rules": {
        for (const candidate of todo.candidates) {
          const { rule } = candidate;
          const holds =
            rule === undefined || (await ports.scripts.holds(scriptRequest(execution, rule)));
          if (holds) return { kind: "chosen", transition: candidate };
        }
        return { kind: "chosen", transition: undefined };
      }
      case "timers": {
        const timers = [];
        for (const { key, timer } of todo.transitions) {
          if (timer === undefined) continue;
          const schedule = await ports.scripts.schedule(scriptRequest(execution, timer));
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

const scriptRequest = (
  { run, signal, traceId }: Pick<Execution, "run" | "signal" | "traceId">,
  script: ScriptCode,
): ScriptRequest => ({
  script,
  helpers: run.program.workflow.helpers,
  context: scriptContext(run, traceId),
  signal,
});

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
  const failures: unknown[] = [];
  const outcomes = todo.bindings.map(async (binding, position) => {
    const executionKey = `${execution.run.hop.recordId}:${todo.hook}:${todo.group}:${position}`;
    try {
      return await runTask(ports, execution, binding, executionKey, signal);
    } catch (error) {
      failures.push(error);
      cancel.abort();
      throw error;
    }
  });
  const results = await Promise.allSettled(outcomes);
  // The first in time, not in order: the others only say that they were cancelled.
  if (failures.length > 0) throw failures[0];
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
  const request = (script: ScriptCode, seen?: SeenByScript) =>
    scriptRequest({ run: { ...run, ...seen }, signal, traceId: execution.traceId }, script);
  const invocation = { binding, definition, run, executionKey, signal, request };
  if (!tasks.isEffectful(definition)) return tasks.run(invocation);

  const { id: jobId, attempts } = execution.job!;
  const instanceId = run.instance.id;
  const entry = { instanceId, executionKey, jobId, attempts, owner: ports.nodeId };
  const before = await journal.find(entry);
  if (before.kind === "done") return before.outcome;
  if (before.kind === "lost") throw new Overtaken();
  const startedAt = ports.tools.now();
  faultPoint("before-task");
  const outcome = await tasks.run(invocation);
  faultPoint("after-task");
  const kept = await journal.add({
    ...entry,
    taskKey: definition.key,
    outcome,
    startedAt,
    finishedAt: ports.tools.now(),
  });
  faultPoint("after-journal");
  // Another node has the job: it goes on, and does this task again with the same idempotency key.
  if (!kept) throw new Overtaken();
  return outcome;
}

/** Another node has this run now. Nothing to repair here: every write of ours is refused. */
class Overtaken extends Error {
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
): Promise<JobExecution | Executed> {
  const { run, request, traceId, timerId } = execution;
  const { instance, hop } = run;
  const payload = stringifyJson({ request, traceId, checkpoint: checkpointOf(run) });
  const job = execution.job ?? newJob(run, payload, ports.tools);
  // An update of the data leaves the status as it is, and itself beside whatever else runs.
  const status = hop.kind === "updateData" ? instance.status : "B";
  const addsJob = execution.job === undefined;
  if (addsJob) ports.held.hold(job.id);
  ports.faultPoint("before-checkpoint");
  const result = await write(
    ports,
    { ...execution, job, run: { ...run, instance: { ...instance, status } } },
    {
      records: [...run.pending.records, run.record],
      addJobs: [
        ...timerJobs(run, ports.tools),
        ...(addsJob ? [{ ...job, owner: ports.nodeId }] : []),
      ],
      removeJob: timerId,
      checkpoint: addsJob ? undefined : { jobId: job.id, payload },
    },
  ).catch((error: unknown) => {
    if (addsJob) ports.held.letGo(job.id);
    throw error;
  });
  if (result.kind !== "done") {
    if (addsJob) ports.held.letGo(job.id);
    return result;
  }
  ports.faultPoint("after-checkpoint");
  const stored = result.instance;
  return {
    ...execution,
    job: { ...job, payload },
    timerId: undefined,
    checkpoint: placeOf(run),
    stored,
    run: { ...run, instance: stored, pending: nothingPending },
  };
}

/** Claimed by this node from the start. */
const newJob = ({ instance, hop }: Run, payload: string, { uuid }: Tools): Job => ({
  id: uuid(),
  type: JobType.transition,
  instanceId: instance.id,
  domain: instance.domain,
  flow: instance.flow,
  sourceState: hop.from,
  transitionKey: hop.transition.key,
  payload,
  attempts: 1,
});

/** By its script if it has one; a script that fails leaves the duration of the definition. */
async function timeoutOf(
  ports: ExecutePorts,
  execution: Execution,
  { mapping, durationMs }: Timeout,
): Promise<Schedule> {
  if (mapping === undefined || mapping.type === "global") return { delayMs: durationMs };
  try {
    return await ports.scripts.schedule(scriptRequest(execution, mapping));
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    ports.onTrouble("TimeoutScriptFailed", error);
    return { delayMs: durationMs };
  }
}

async function writeEnd(ports: ExecutePorts, execution: Execution): Promise<Executed> {
  const { run, job, timerId, stored } = execution;
  const { idempotencyKey, instance } = run;
  // A start arms the workflow's timeout, unless the instance has ended already.
  const { timeout } = run.program.workflow;
  const isStart = stored === undefined || execution.request.kind === "start";
  const armTimeout = isStart && timeout !== undefined && instance.status !== "C";
  const addJobs = timerJobs(run, ports.tools);
  if (armTimeout) {
    const schedule = await timeoutOf(ports, execution, timeout);
    const { uuid } = ports.tools;
    addJobs.push({ id: uuid(), type: JobType.timeout, instanceId: instance.id, ...schedule });
  }
  ports.faultPoint(stored === undefined ? "before-start-write" : "before-settle-write");
  const result = await write(ports, execution, {
    records: run.pending.records,
    addJobs,
    removeJob: job?.id ?? timerId,
    outcome: idempotencyKey === undefined ? undefined : { seq: run.firstSeq },
  });
  ports.faultPoint(stored === undefined ? "after-start-write" : "after-settle-write");
  return result;
}

/** Cancel, exit and timeout do not wait for a run that is under way: they end it. */
function othersEndedBy({ run, job, request }: Execution): EndsOthers | undefined {
  const takesOver =
    request.kind === "cancel" || request.kind === "exit" || request.kind === "timeout";
  const completes = run.instance.status === "C";
  if (!takesOver && !completes) return undefined;
  return {
    ownJob: job?.id,
    ownSeq: run.firstSeq,
    spared: completes ? undefined : run.program.workflow.updateData?.key,
  };
}

async function write(
  ports: ExecutePorts,
  execution: Execution,
  what: Pick<RunWrite, "records"> &
    Partial<Pick<RunWrite, "addJobs" | "removeJob" | "checkpoint" | "outcome">>,
): Promise<Executed> {
  const { run, stored, traceId } = execution;
  const { instance, pending } = run;
  execution.signal?.throwIfAborted();
  const base = stored?.rev ?? 0;
  const runWrite: RunWrite = {
    addJobs: [],
    ...what,
    instance: { ...instance, rev: base },
    dataChanged: instance.data !== stored?.data,
    dataChanges: pending.dataChanges,
    leftStates: pending.leftStates,
    endsOthers: othersEndedBy(execution),
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
