/** One attempt at a claimed job. What follows from its end is the job runner's to do. */
import { parseJson, stringifyJson } from "../engine/exact-json.ts";
import { isTerminal, type Author, type Instance, type InstanceStatus } from "../engine/instance.ts";
import { JobType } from "../engine/job-name.ts";
import { Problem } from "../engine/problem.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";
import type { TaskFailure } from "../engine/task-failure.ts";
import { admit, aliases, resolveSpecial } from "../engine/transition/admit.ts";
import { beginRun } from "../engine/transition/begin-run.ts";
import {
  checkpointOf,
  findTransition,
  queuedRunIn,
  requestOf,
  resumeRun,
  type QueuedRequest,
  type QueuedRun,
} from "../engine/transition/checkpoint.ts";
import { endHere } from "../engine/transition/settle-run.ts";
import { withRetryData } from "../engine/transition/merge-into-run.ts";
import { bareTransition } from "../engine/transition/bare-transition.ts";
import { resumeWaiting } from "../engine/transition/resume-run.ts";
import { noPayload, type Program, type Run } from "../engine/transition/run.ts";
import type { Job, JobStore } from "../storage/job-store.ts";
import { executeRun } from "./execute-run.ts";
import {
  placeOf,
  type Executed,
  type ExecutePorts,
  type Execution,
  type JobExecution,
} from "./execution.ts";
import { loadProgram } from "./load-program.ts";
import { withTimeoutOf } from "./overrides.ts";
import { scriptRequest } from "./script-request.ts";
import type { Rest } from "./send-state-notifications.ts";
import { startChild } from "./start-child.ts";
import { unfaultAncestors } from "./unfault-ancestors.ts";
import { writeEnd } from "./write-run.ts";
import { writeFault, type Fault } from "./write-fault.ts";

export type JobEnd =
  /** The job is gone from the queue; the instance as the run left it, unless there was none. */
  | { kind: "done"; instance: Instance | undefined; followUps?: readonly Job[] }
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
  /** Tells others that an instance rests in a state that wants it told. */
  notify: (rest: Rest) => Promise<void>;
  /** How long one job may take, whole chain included. */
  budgetMs: number;
}

export async function runJob(
  ports: RunJobPorts,
  job: Job,
  known: Known | undefined,
  stopping: AbortSignal,
): Promise<JobEnd> {
  if (job.type === JobType.subflowStart) return runStart(ports, job, stopping);
  if (known !== undefined && "execution" in known) {
    const { waitMs } = known.execution;
    if (waitMs !== undefined) return { kind: "later", delayMs: waitMs };
    return attempt(ports, job, known.execution.stored, stopping, async () => known.execution);
  }
  if (await isStarting(ports, job)) return later(job);
  const instance = known?.instance ?? (await findInstance(ports, job));
  if (instance === undefined || isOver(job, instance)) {
    await ports.jobStore.remove(job, ports.nodeId);
    return { kind: "done", instance };
  }
  if (job.type === JobType.notify) return tell(ports, job, instance, stopping);
  if (instance.status === "F" && waitsForRetry(job)) return untilRetried;
  if (await wasSetAnew(ports, job)) return { kind: "done", instance };
  if (await mustWait(ports, job, instance)) return later(job);
  return attempt(ports, job, instance, stopping, () => prepare(ports, job, instance));
}

const findInstance = (ports: RunJobPorts, { domain, flow, instanceId }: Job) =>
  ports.store.find({ domain, flow, reference: instanceId });

/** A child to cancel that somebody is starting at this moment: it will be there, or not, in a moment. */
const isStarting = (ports: RunJobPorts, { type, instanceId }: Job) =>
  type === JobType.childCancel && ports.jobStore.isStarting(instanceId);

/** A timer whose state was left, or whose instance has ended, has nothing to do any more. */
function isOver(job: Job, instance: Instance): boolean {
  const { status, current, openChild } = instance;
  switch (job.type) {
    case JobType.resume:
      if (isUnderWay(job)) return isTerminal(status);
      // A parent that faulted with its subflow goes on when the subflow does.
      return isEnded(status) || openChild?.id.replaceAll("-", "") !== job.transitionKey;
    case JobType.childCancel:
      return isEnded(status);
    case JobType.notify:
      return false;
    case JobType.longPoll:
      if (isUnderWay(job)) return isTerminal(status);
      return isEnded(status) || job.sourceState !== current.key;
    case JobType.scheduled:
      return isEnded(status) || job.sourceState !== current.key;
    case JobType.timeout:
      return isEnded(status);
    default:
      return isEnded(status) || (status === "F" && !isUpdate(job));
  }
}

/** Its run has written something: what it began with, a subflow's end or a pause's, is behind it. */
const isUnderWay = ({ payload }: Job) => queuedRunIn(payload).checkpoint !== undefined;

/**
 * What is to be done all the same when its instance is Faulted, and cannot be yet: timers, and updates
 * of the data, which were accepted before that.
 */
const waitsForRetry = (job: Job) => (isTimer(job) && !isUnderWay(job)) || isUpdate(job);

const isTimer = ({ type }: Job) =>
  type === JobType.scheduled || type === JobType.longPoll || type === JobType.timeout;

/** One that has taken an automatic transition since is none any more. */
const isUpdate = ({ type, payload }: Job) =>
  type === JobType.transition && kindOf(queuedRunIn(payload)) === "updateData";

/** Of the hop it stands in. */
const kindOf = ({ request, checkpoint }: QueuedRun) => checkpoint?.["kind"] ?? request.kind;

/** A retry wakes them; this is for whatever else ends the fault. */
const untilRetried: JobEnd = { kind: "later", delayMs: 300_000 };

const isEnded = (status: InstanceStatus) => status === "C" || status === "P";

/**
 * A state that is entered again sets its timers anew, under the same names, also one that is being
 * claimed. Asked after the instance was read: whatever sets the timer later also raises the rev.
 */
const wasSetAnew = async (ports: RunJobPorts, job: Job) =>
  (job.type === JobType.scheduled || job.type === JobType.longPoll) &&
  (await ports.jobStore.reload(job, ports.nodeId)) === undefined;

/**
 * Neither a timer nor the end of a subflow interrupts a run. An instance that is only parked Busy may
 * wait for nothing else.
 */
const mustWait = async (ports: RunJobPorts, job: Job, { id, status }: Instance) =>
  (job.type === JobType.scheduled || (job.type === JobType.resume && !isUnderWay(job))) &&
  status === "B" &&
  (await ports.jobStore.hasRun(id));

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
  const ending = new AbortController();
  const end = () => ending.abort();
  const timer = setTimeout(end, ports.budgetMs);
  // By hand: AbortSignal.any costs as much as a good part of a transition.
  stopping.addEventListener("abort", end);
  if (stopping.aborted) end();
  const { signal } = ending;
  let execution: Execution | undefined;
  try {
    ports.faultPoint(job.type === JobType.resume ? "before-resume" : "before-run");
    const begun = await begin();
    if (!("run" in begun)) return await fail(ports, job, instance, begun);
    execution = { ...begun, signal };
    const executing = execute(ports, execution);
    const executed = await Promise.race([executing, aborted(signal)]);
    if (executed !== "aborted") {
      if (executed.kind === "overtaken") return await recover(ports, job, executed.lost);
      if (executed.kind !== "refused") return toEnd(executed);
      return await fail(ports, job, instance, refusal(executed.errors), execution.run);
    }
    // A task that ignores the signal may go on; nothing that follows from it is written. A write
    // that was under way may still succeed.
    executing.then(
      (late) => letGo(ports, late),
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
    stopping.removeEventListener("abort", end);
  }
  if (stopping.aborted) return { kind: "stopped" };
  return fail(ports, job, instance, timedOut(ports), execution?.run);
}

/** What came of a run that nobody waits for any more is for whoever claims it. */
function letGo({ held }: RunJobPorts, late: Executed): void {
  if (late.kind === "becameJob") held.letGo(late.execution.job.id);
  if (late.kind === "done") for (const { id } of late.followUps) held.letGo(id);
}

/** What has no way to be cancelled ends where it is. */
const execute = (ports: RunJobPorts, execution: Execution): Promise<Executed> =>
  execution.run.phase === "settled" ? writeEnd(ports, execution) : executeRun(ports, execution);

const aborted = (signal: AbortSignal) =>
  new Promise<"aborted">((resolve) => {
    if (signal.aborted) resolve("aborted");
    signal.addEventListener("abort", () => resolve("aborted"), { once: true });
  });

function toEnd(executed: Exclude<Executed, { kind: "refused" | "overtaken" }>): JobEnd {
  switch (executed.kind) {
    case "done":
    case "becameJob":
      return executed;
    case "postponed":
      return { kind: "later", delayMs: executed.delayMs };
    case "keyInUse":
      return overtaken;
  }
}

/**
 * A job that is gone although its record is open and nobody has written the instance since was
 * cancelled by somebody outside of the service: the instance would stay Busy for ever.
 */
async function recover(ports: RunJobPorts, job: Job, lost: Execution | undefined): Promise<JobEnd> {
  if (lost?.job === undefined || (await ports.jobStore.isThere(job.id))) return overtaken;
  const instance = await findInstance(ports, job);
  if (instance?.status !== "B" || instance.rev !== lost.stored?.rev) return overtaken;
  // The instance may have been read after whoever ended the run had written it.
  const { recordId } = lost.run.hop;
  const records = await ports.store.records(instance.id);
  const isOpen = records.some(({ id, finishedAt }) => id === recordId && finishedAt === undefined);
  return isOpen ? fail(ports, lost.job, instance, cancelled, lost.run) : overtaken;
}

const overtaken: JobEnd = { kind: "overtaken" };

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

const cancelled: TaskFailure = {
  code: "JOB_EXECUTION_TIMEOUT",
  layer: "Job",
  message: "The job of the transition was cancelled from outside while it ran.",
  retryable: true,
};

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
  const own = await loadProgram(ports.catalogue, {
    domain,
    workflow: flow,
    version: flowVersion,
  });
  const program = await withTimeoutOf(ports.catalogue, own, instance);
  if (job.type === JobType.childCancel) return prepareCancel(ports, job, instance, program);
  if (job.type === JobType.scheduled || job.type === JobType.timeout) {
    return prepareTimer(ports, job, instance, program);
  }
  const queued = queuedRunIn(job.payload);
  const { request, traceId, retry, retryData, checkpoint } = queued;
  if (queued.isRetried === true) await unfaultAncestors(ports, instance);
  const begun = queuedRun(ports, job, instance, program, queued);
  const run = retry === undefined ? begun : asRetry(begun);
  const execution = { stored: instance, job, request, traceId, retry, run };
  if (retryData !== undefined) {
    // Not on disk yet: the first thing that reaches outside is preceded by a write.
    const joined = withRetryData(run, retryData, ports.tools);
    return { ...execution, run: joined, request: { ...request, payload: joined.payload } };
  }
  return checkpoint === undefined ? execution : { ...execution, checkpoint: placeOf(run) };
}

/** A retry is a request of its own: the hops of its chain are counted anew. */
const asRetry = (run: Run): Run => ({ ...run, isRetry: true, depth: Math.min(run.depth, 2) });

/** From where it stood, or from its beginning. */
function queuedRun(
  { tools }: RunJobPorts,
  job: Job,
  instance: Instance,
  program: Program,
  { request, checkpoint }: QueuedRun,
): Run {
  if (checkpoint !== undefined) return resumeRun(program, instance, request, checkpoint);
  if (request.kind === "resume") {
    const phase = job.type === JobType.longPoll ? "auto" : "resume";
    const { author, headers, roles = [], triggerDepth = 0 } = request;
    const asked = { author, headers, roles, triggerDepth };
    return resumeWaiting({ program, instance, phase, ...asked }, tools);
  }
  const from = instance.current.key;
  const { kind, transitionKey } = request;
  const transition = findTransition(program.workflow, { kind, transitionKey, from });
  return beginRun(request, { program, instance, transition }, tools);
}

/** The parent is gone: the child ends as its workflow says, or, if that says nothing, where it is. */
function prepareCancel(
  { tools }: RunJobPorts,
  job: Job,
  instance: Instance,
  program: Program,
): Execution {
  const { author, traceId } = parseJson(job.payload ?? "{}") as unknown as {
    author: Author;
    traceId?: string;
  };
  const special = resolveSpecial(program.workflow, aliases.cancel);
  const isEndedHere = special === undefined || instance.status === "F";
  const transition = special?.transition ?? bareCancel;
  const request: QueuedRequest = {
    kind: "cancel",
    transitionKey: transition.key,
    trigger: "manual",
    payload: noPayload,
    author,
    headers: {},
    idempotencyKey: undefined,
  };
  const run = beginRun(request, { program, instance, transition }, tools);
  return {
    run: isEndedHere ? endHere(run, tools) : run,
    stored: instance,
    job: undefined,
    causeId: job.id,
    request,
    traceId,
  };
}

const bareCancel = bareTransition({
  key: aliases.cancel,
  target: "$self",
  triggerType: "manual",
});

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
    run: beginRun(request, { program, instance, transition }, ports.tools),
    stored: instance,
    job: undefined,
    causeId: job.id,
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
    if (instance.status === "F" && isUpdate(job)) return untilRetried;
    if (isTerminal(instance.status)) {
      await ports.jobStore.remove(job, ports.nodeId);
      return { kind: "done", instance };
    }
    const written = await writeFault(
      ports,
      instance,
      failedRun(job, instance, failure, run, ports),
    );
    if (written.kind === "done") return written;
    const current = await ports.jobStore.reload(job, ports.nodeId);
    if (current === undefined) return { kind: "overtaken" };
    job = current;
    instance = await findInstance(ports, job);
  }
  return { kind: "done", instance: undefined };
}

function failedRun(
  job: Job,
  instance: Instance,
  failure: TaskFailure,
  run: Run | undefined,
  { tools }: RunJobPorts,
): Fault {
  const queued = isRunJob(job) ? queuedRunIn(job.payload) : undefined;
  const isRecorded = queued?.checkpoint !== undefined || run?.record.finishedAt !== undefined;
  const seq = instance.lastSeq + 1;
  const record =
    run === undefined || isRecorded ? undefined : { ...run.record, seq, finishedAt: tools.now() };
  const request = queued?.request ?? (run === undefined ? undefined : requestOf(run));
  // A retry goes on with the record that is written here.
  const checkpoint =
    queued?.checkpoint ??
    (run === undefined
      ? undefined
      : checkpointOf({ ...run, hop: { ...run.hop, seq: record?.seq ?? run.hop.seq } }));
  // Updates of the data wait for the retry; one that failed itself does not.
  const updateKey = run?.program.workflow.updateData?.key;
  return {
    failure,
    transition: request?.transitionKey ?? job.transitionKey ?? "",
    record,
    removeJob: job.id,
    endsOthers: {
      ownJob: job.id,
      ownSeq: undefined,
      spared: isUpdate(job) ? undefined : updateKey,
    },
    author: request?.author ?? nobody,
    headers: request?.headers ?? {},
    roles: request?.roles ?? [],
    traceId: queued?.traceId,
    resume:
      request === undefined
        ? undefined
        : stringifyJson({ request, traceId: queued?.traceId, retry: queued?.retry, checkpoint }),
  };
}

const isRunJob = ({ type }: Job) =>
  type === JobType.transition || type === JobType.resume || type === JobType.longPoll;

const nobody: Author = { actor: undefined, behalfOf: undefined };

/** Says that the instance has come to rest; what could not be said is in the log, and said once. */
async function tell(
  ports: RunJobPorts,
  job: Job,
  instance: Instance,
  stopping: AbortSignal,
): Promise<JobEnd> {
  const { domain, flow: workflow, flowVersion: version } = instance;
  const program = await loadProgram(ports.catalogue, { domain, workflow, version });
  const state = program.workflow.states.get(job.sourceState ?? "");
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(ports.budgetMs)]);
  if (state !== undefined) {
    const { createdBy: author } = instance;
    const waiting = { program, instance, phase: "auto", author, headers: {}, roles: [] } as const;
    const run = resumeWaiting(waiting, ports.tools);
    await ports.notify({
      instance,
      state,
      key: job.transitionKey ?? job.id,
      request: (script) => scriptRequest(ports, { run, signal, traceId: undefined }, script),
      signal,
    });
  }
  await ports.jobStore.remove(job, ports.nodeId);
  return { kind: "done", instance };
}

/** A child to start; whoever waits for it hears when it cannot be started. */
async function runStart(ports: RunJobPorts, job: Job, stopping: AbortSignal): Promise<JobEnd> {
  ports.faultPoint("before-child-start");
  const budget = AbortSignal.timeout(ports.budgetMs);
  const started = await startChild(ports, job, AbortSignal.any([stopping, budget]));
  if (started.kind === "done" && started.isRemoved !== true) {
    await ports.jobStore.remove(job, ports.nodeId);
  }
  return started;
}
