/** Does one claimed job. */
import type { Instance } from "../engine/instance.ts";
import { isTerminal } from "../engine/instance.ts";
import { JobType } from "../engine/job-name.ts";
import { Problem } from "../engine/problem.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";
import type { TaskFailure } from "../engine/task-failure.ts";
import { admit, aliases } from "../engine/transition/admit.ts";
import { beginRun } from "../engine/transition/begin-run.ts";
import { findTransition, resumeRun, type QueuedRequest } from "../engine/transition/checkpoint.ts";
import { noPayload, nothingPending, type Program, type Run } from "../engine/transition/run.ts";
import type { Job, JobStore } from "../storage/job-store.ts";
import { executeRun, Overtaken, type Executed, type ExecutePorts } from "./execute-run.ts";
import { queuedRunIn } from "./job-runner.ts";
import { loadProgram } from "./load-program.ts";

export type JobEnd =
  /** Nothing is left to do: the job is gone, or somebody else's. */
  { kind: "done" } | { kind: "later"; delayMs: number };

export interface RunJobPorts extends ExecutePorts {
  jobStore: JobStore;
  /** How long one job may take, whole chain included. */
  budgetMs: number;
  onTrouble: (event: string, error: unknown) => void;
}

const done: JobEnd = { kind: "done" };
const attemptsAtOnce = 20;

export async function runJob(
  ports: RunJobPorts,
  job: Job,
  known: Instance | undefined,
  stopping: AbortSignal,
): Promise<JobEnd> {
  let instance = known ?? (await findInstance(ports, job));
  for (let attempt = 0; attempt < attemptsAtOnce; attempt += 1) {
    if (instance === undefined || isOver(job, instance)) {
      await ports.jobStore.remove(job.id, ports.nodeId);
      return done;
    }
    if (mustWait(job, instance)) return { kind: "later", delayMs: backOff(job.attempts) };
    const executed = await runOnce(ports, job, instance, stopping);
    switch (executed.kind) {
      case "done":
      case "stopped":
        return done;
      case "refused":
        await fail(ports, job, instance, executed.failure);
        return done;
    }
    // Overtaken: by a change of the data, and the job is still ours to do; or by another node.
    if (!(await ports.jobStore.isOwner(job.id, ports.nodeId))) return done;
    instance = await findInstance(ports, job);
  }
  return { kind: "later", delayMs: backOff(job.attempts) };
}

const findInstance = (ports: RunJobPorts, { domain, flow, instanceId }: Job) =>
  ports.store.find({ domain, flow, reference: instanceId });

/** A timer whose state was left, or whose instance has ended, has nothing to do any more. */
function isOver(job: Job, { status, current }: Instance): boolean {
  if (isTerminal(status)) return true;
  return job.type === JobType.scheduled && job.sourceState !== current.key;
}

/** A timer does not interrupt: it waits until the instance rests. */
const mustWait = (job: Job, instance: Instance) =>
  job.type === JobType.scheduled && instance.status === "B" && instance.current.subType !== "busy";

const backOff = (attempts: number) => Math.min(5000, 100 * 2 ** Math.min(attempts, 6));

type Ran =
  | { kind: "done" }
  | { kind: "overtaken" }
  /** The host is stopping: the job goes back to the queue as it is. */
  | { kind: "stopped" }
  | { kind: "refused"; failure: TaskFailure };

async function runOnce(
  ports: RunJobPorts,
  job: Job,
  instance: Instance,
  stopping: AbortSignal,
): Promise<Ran> {
  const budget = new AbortController();
  const timer = setTimeout(() => budget.abort(), ports.budgetMs);
  const signal = AbortSignal.any([stopping, budget.signal]);
  try {
    ports.faultPoint("before-run");
    const prepared = await prepare(ports, job, instance);
    if ("failure" in prepared) return { kind: "refused", failure: prepared.failure };
    const { run, request } = prepared;
    const executing = executeRun(ports, {
      run,
      stored: instance,
      jobId: job.id,
      request,
      traceId: undefined,
      signal,
    });
    const executed = await Promise.race([executing, aborted(signal)]);
    if (executed === "aborted") {
      // Whatever still runs can write nothing that counts: its rev is about to be taken.
      executing.catch(() => {});
      return stopping.aborted ? { kind: "stopped" } : { kind: "refused", failure: timedOut(ports) };
    }
    return toRan(executed);
  } catch (error) {
    if (error instanceof Overtaken) return { kind: "overtaken" };
    if (error instanceof StorageUnavailable) throw error;
    if (!(error instanceof Problem)) ports.onTrouble("JobExecutionFailed", error);
    return { kind: "refused", failure: unexpected(error) };
  } finally {
    clearTimeout(timer);
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<"aborted">((resolve) => {
    if (signal.aborted) resolve("aborted");
    signal.addEventListener("abort", () => resolve("aborted"), { once: true });
  });

function toRan(executed: Executed): Ran {
  switch (executed.kind) {
    case "done":
      return { kind: "done" };
    case "refused": {
      const list = executed.errors.map((e) => `${e.path} ${e.message}`).join("; ");
      const message = `The payload does not fit the workflow's schema: ${list}`;
      return {
        kind: "refused",
        failure: { code: "App:900002", layer: "Pipeline", message, retryable: false },
      };
    }
    default:
      return { kind: "overtaken" };
  }
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

type Prepared = { run: Run; request: QueuedRequest } | { failure: TaskFailure };

async function prepare(ports: RunJobPorts, job: Job, instance: Instance): Promise<Prepared> {
  const { domain, flow, flowVersion } = instance;
  const program = await loadProgram(ports.catalogue, {
    domain,
    workflow: flow,
    version: flowVersion,
  });
  if (job.type !== JobType.transition) return prepareTimer(ports, job, instance, program);

  const { request, checkpoint } = queuedRunIn(job.payload);
  if (checkpoint !== undefined) {
    return { run: resumeRun(program, instance, request, checkpoint), request };
  }
  const from = instance.current.key;
  const transition = findTransition(program.workflow, { ...request, from });
  return { run: beginRun({ ...request, program, instance, transition }, ports.tools), request };
}

function prepareTimer(
  ports: RunJobPorts,
  job: Job,
  instance: Instance,
  program: Program,
): Prepared {
  const key = job.type === JobType.timeout ? aliases.timeout : (job.transitionKey ?? "");
  const admitted = admit(program.workflow, instance, key, "system");
  if (admitted instanceof Problem) return { failure: unexpected(admitted) };
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
  return { run: beginRun({ ...request, program, instance, transition }, ports.tools), request };
}

/**
 * Faults the instance and closes its open record. Runs to completion whatever was cancelled: an
 * instance must not stay Busy with nobody to free it.
 */
async function fail(
  ports: RunJobPorts,
  job: Job,
  known: Instance,
  failure: TaskFailure,
): Promise<void> {
  for (let instance: Instance | undefined = known; instance !== undefined;) {
    if (isTerminal(instance.status)) {
      await ports.jobStore.remove(job.id, ports.nodeId);
      return;
    }
    const written = await ports.store.write({
      ...nothingPending,
      instance: {
        ...instance,
        status: "F",
        modifiedAt: ports.tools.now(),
        hasActiveIncident: true,
        incidentCount: instance.incidentCount + 1,
      },
      dataChanged: false,
      addJobs: [],
      removeJob: job.id,
      closesOpenRecord: true,
      incident: {
        id: ports.tools.uuid(),
        traceId: undefined,
        state: instance.current.key,
        transition: job.transitionKey ?? "",
        failure,
      },
    });
    if (written || !(await ports.jobStore.isOwner(job.id, ports.nodeId))) return;
    instance = await findInstance(ports, job);
  }
}
