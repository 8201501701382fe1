/** One attempt at a claimed job. What follows from its end is the job runner's to do. */
import type { Instance } from "../engine/instance.ts";
import { isTerminal } from "../engine/instance.ts";
import { JobType } from "../engine/job-name.ts";
import { Problem } from "../engine/problem.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";
import type { TaskFailure } from "../engine/task-failure.ts";
import { admit, aliases } from "../engine/transition/admit.ts";
import { beginRun } from "../engine/transition/begin-run.ts";
import {
  findTransition,
  queuedRunIn,
  resumeRun,
  type QueuedRequest,
} from "../engine/transition/checkpoint.ts";
import { noPayload, nothingPending, type Program, type Run } from "../engine/transition/run.ts";
import type { RunWrite } from "../storage/instance-store.ts";
import type { Job, JobStore } from "../storage/job-store.ts";
import {
  executeRun,
  placeOf,
  type Executed,
  type ExecutePorts,
  type Execution,
  type JobExecution,
} from "./execute-run.ts";
import { loadProgram } from "./load-program.ts";

export type JobEnd =
  /** The job is gone from the queue; the instance as the run left it, unless there was none. */
  | { kind: "done"; instance: Instance | undefined }
  /** A timer's run that reaches outside: it goes on as a job of its own. */
  | { kind: "becameJob"; execution: JobExecution }
  /** The instance was changed meanwhile: by an update of its data, say, or by another node. */
  | { kind: "overtaken" }
  /** The host is stopping: the job stays as it is. */
  | { kind: "stopped" }
  | { kind: "later"; delayMs: number };

/** What is in memory already: the instance as it was just written, perhaps with its run. */
export type Known = { instance: Instance } | { execution: JobExecution };

export interface RunJobPorts extends ExecutePorts {
  jobStore: JobStore;
  /** How long one job may take, whole chain included. */
  budgetMs: number;
}

export async function runJob(
  ports: RunJobPorts,
  job: Job,
  known: Known | undefined,
  stopping: AbortSignal,
): Promise<JobEnd> {
  if (known !== undefined && "execution" in known) {
    return attempt(ports, job, known.execution.stored, stopping, async () => known.execution);
  }
  const instance = known?.instance ?? (await findInstance(ports, job));
  if (instance === undefined || isOver(job, instance)) {
    await ports.jobStore.remove(job, ports.nodeId);
    return { kind: "done", instance };
  }
  if (await wasSetAnew(ports, job)) return { kind: "done", instance };
  if (await mustWait(ports, job, instance)) return later(job);
  return attempt(ports, job, instance, stopping, () => prepare(ports, job, instance));
}

const findInstance = (ports: RunJobPorts, { domain, flow, instanceId }: Job) =>
  ports.store.find({ domain, flow, reference: instanceId });

/** A timer whose state was left, or whose instance has ended, has nothing to do any more. */
function isOver(job: Job, { status, current }: Instance): boolean {
  if (isTerminal(status)) return true;
  return job.type === JobType.scheduled && job.sourceState !== current.key;
}

/**
 * A state that is entered again sets its timers anew, under the same names, also one that is being
 * claimed. Asked after the instance was read: whatever sets the timer later also raises the rev.
 */
const wasSetAnew = async (ports: RunJobPorts, job: Job) =>
  job.type === JobType.scheduled && (await ports.jobStore.reload(job, ports.nodeId)) === undefined;

/** A timer does not interrupt a run. An instance that is only parked Busy may wait for nothing else. */
const mustWait = async (ports: RunJobPorts, job: Job, { id, status }: Instance) =>
  job.type === JobType.scheduled && status === "B" && (await ports.jobStore.hasRun(id));

/** Puts a job off, the longer the more often it has been tried. */
export const later = ({ attempts }: Job): JobEnd => ({
  kind: "later",
  delayMs: Math.min(5000, 100 * 2 ** Math.min(attempts, 6)),
});

async function attempt(
  ports: RunJobPorts,
  job: Job,
  instance: Instance,
  stopping: AbortSignal,
  begin: () => Promise<Execution | TaskFailure>,
): Promise<JobEnd> {
  const budget = new AbortController();
  const timer = setTimeout(() => budget.abort(), ports.budgetMs);
  const signal = AbortSignal.any([stopping, budget.signal]);
  let execution: Execution | undefined;
  try {
    ports.faultPoint("before-run");
    const begun = await begin();
    if (!("run" in begun)) return await fail(ports, job, instance, begun);
    execution = { ...begun, signal };
    const executing = executeRun(ports, execution);
    const executed = await Promise.race([executing, aborted(signal)]);
    if (executed !== "aborted") {
      if (executed.kind !== "refused") return toEnd(executed);
      return await fail(ports, job, instance, refusal(executed.errors), execution.run);
    }
    // A task that ignores the signal may go on; nothing that follows from it is written. A write
    // that was under way may still succeed.
    executing.then(
      (late) => late.kind === "becameJob" && ports.held.letGo(late.execution.job.id),
      () => {},
    );
  } catch (error) {
    if (!signal.aborted) {
      if (error instanceof StorageUnavailable) throw error;
      if (!(error instanceof Problem)) ports.onTrouble("JobExecutionFailed", error);
      return await fail(ports, job, instance, unexpected(error), execution?.run);
    }
  } finally {
    clearTimeout(timer);
  }
  if (stopping.aborted) return { kind: "stopped" };
  return fail(ports, job, instance, timedOut(ports), execution?.run);
}

const aborted = (signal: AbortSignal) =>
  new Promise<"aborted">((resolve) => {
    if (signal.aborted) resolve("aborted");
    signal.addEventListener("abort", () => resolve("aborted"), { once: true });
  });

function toEnd(executed: Exclude<Executed, { kind: "refused" }>): JobEnd {
  switch (executed.kind) {
    case "done":
    case "becameJob":
      return executed;
    case "overtaken":
    case "keyInUse":
      return { kind: "overtaken" };
  }
}

function refusal(errors: Extract<Executed, { kind: "refused" }>["errors"]): TaskFailure {
  const list = errors.map((e) => `${e.path} ${e.message}`).join("; ");
  const message = `The payload does not fit the workflow's schema: ${list}`;
  return { code: "App:900002", layer: "Pipeline", message, retryable: false };
}

const timedOut = ({ budgetMs }: RunJobPorts): TaskFailure => ({
  code: "JOB_EXECUTION_TIMEOUT",
  layer: "Job",
  message: `The transition did not end within ${budgetMs / 1000} s (WorkflowExecution.TransitionJobTimeoutSeconds).`,
  retryable: true,
});

const unexpected = (error: unknown): TaskFailure => ({
  code: error instanceof Problem ? error.code : "JOB_EXECUTION_FAILED",
  layer: error instanceof Problem ? "Pipeline" : "Job",
  message:
    error instanceof Problem
      ? error.message
      : "The transition could not be carried out; the service's log has the reason.",
  retryable: false,
});

async function prepare(
  ports: RunJobPorts,
  job: Job,
  instance: Instance,
): Promise<Execution | TaskFailure> {
  const { domain, flow, flowVersion } = instance;
  const program = await loadProgram(ports.catalogue, {
    domain,
    workflow: flow,
    version: flowVersion,
  });
  if (job.type !== JobType.transition) return prepareTimer(ports, job, instance, program);

  const { request, traceId, checkpoint } = queuedRunIn(job.payload);
  const queued = { stored: instance, job, request, traceId };
  if (checkpoint !== undefined) {
    const run = resumeRun(program, instance, request, checkpoint);
    return { ...queued, run, checkpoint: placeOf(run) };
  }
  const from = instance.current.key;
  const transition = findTransition(program.workflow, { ...request, from });
  return { ...queued, run: beginRun({ ...request, program, instance, transition }, ports.tools) };
}

function prepareTimer(
  ports: RunJobPorts,
  job: Job,
  instance: Instance,
  program: Program,
): Execution | TaskFailure {
  const key = job.type === JobType.timeout ? aliases.timeout : (job.transitionKey ?? "");
  const admitted = admit(program.workflow, instance, key, "system");
  if (admitted instanceof Problem) return unexpected(admitted);
  const request: QueuedRequest = {
    kind: admitted.kind,
    transitionKey: admitted.transition.key,
    trigger: "scheduled",
    payload: noPayload,
    author: { actor: undefined, behalfOf: undefined },
    headers: {},
    idempotencyKey: undefined,
  };
  const { transition } = admitted;
  return {
    run: beginRun({ ...request, program, instance, transition }, ports.tools),
    stored: instance,
    job: undefined,
    timerId: job.id,
    request,
    traceId: undefined,
  };
}

/**
 * Faults the instance and closes its open record; a run that had not written its record yet gets it
 * here. Runs to completion whatever was cancelled: an instance must not stay Busy with nobody to
 * free it.
 */
async function fail(
  ports: RunJobPorts,
  claimed: Job,
  known: Instance,
  failure: TaskFailure,
  run?: Run,
): Promise<JobEnd> {
  let job = claimed;
  for (let instance: Instance | undefined = known; instance !== undefined;) {
    if (isTerminal(instance.status)) {
      await ports.jobStore.remove(job, ports.nodeId);
      return { kind: "done", instance };
    }
    const write = failureWrite(ports, job, instance, failure, run);
    if (await ports.store.write(write)) {
      return { kind: "done", instance: { ...write.instance, rev: instance.rev + 1 } };
    }
    const current = await ports.jobStore.reload(job, ports.nodeId);
    if (current === undefined) return { kind: "overtaken" };
    job = current;
    instance = await findInstance(ports, job);
  }
  return { kind: "done", instance: undefined };
}

function failureWrite(
  { tools }: RunJobPorts,
  job: Job,
  instance: Instance,
  failure: TaskFailure,
  run: Run | undefined,
): RunWrite {
  const now = tools.now();
  const isRecorded = job.type === JobType.transition && hasCheckpoint(job);
  const seq = instance.lastSeq + 1;
  const records = run === undefined || isRecorded ? [] : [{ ...run.record, seq, finishedAt: now }];
  return {
    ...nothingPending,
    instance: {
      ...instance,
      status: "F",
      lastSeq: records.length === 0 ? instance.lastSeq : seq,
      modifiedAt: now,
      hasActiveIncident: true,
      incidentCount: instance.incidentCount + 1,
    },
    dataChanged: false,
    records,
    outcome: records[0]?.idempotencyKey === undefined ? undefined : { seq },
    addJobs: [],
    removeJob: job.id,
    endsOthers: { ownJob: job.id, ownSeq: undefined, spared: undefined },
    incident: {
      id: tools.uuid(),
      traceId: job.type === JobType.transition ? queuedRunIn(job.payload).traceId : undefined,
      state: instance.current.key,
      transition: job.transitionKey ?? "",
      failure,
    },
  };
}

const hasCheckpoint = (job: Job) => queuedRunIn(job.payload).checkpoint !== undefined;
