/** Writes what a run has come to: at a checkpoint, and at its end. */
import type { Timeout } from "../engine/definition/model.ts";
import { stringifyJson } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { JobType } from "../engine/job-name.ts";
import { createSecretMask } from "../engine/mask-secrets.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { checkpointOf } from "../engine/transition/checkpoint.ts";
import {
  isStatusNeutral,
  nothingPending,
  type ChildOutcome,
  type Pending,
  type Run,
  type Tools,
} from "../engine/transition/run.ts";
import type { Schedule } from "../scripting/script-host.ts";
import {
  runWrite,
  type EndsOthers,
  type IncidentRow,
  type JobToAdd,
  type RunWrite,
} from "../storage/instance-store.ts";
import type { Job } from "../storage/job-store.ts";
import {
  placeOf,
  type Executed,
  type ExecutePorts,
  type Execution,
  type JobExecution,
} from "./execution.ts";
import { scriptRequest } from "./script-request.ts";

export async function writeCheckpoint(
  ports: ExecutePorts,
  execution: Execution,
): Promise<JobExecution | Executed> {
  const { run, request, traceId, causeId, retry } = execution;
  const { instance } = run;
  const payload = stringifyJson({ request, traceId, retry, checkpoint: checkpointOf(run) });
  const job = execution.job ?? newJob(run, payload, ports.tools);
  // An update of the data leaves the status as it is, and itself beside whatever else runs.
  const status = isStatusNeutral(run) ? instance.status : "B";
  const addsJob = execution.job === undefined;
  if (addsJob) ports.held.hold(job.id);
  ports.faultPoint("before-checkpoint");
  const isOpen = run.record.finishedAt === undefined;
  const result = await write(
    ports,
    { ...execution, job, run: { ...run, instance: { ...instance, status } } },
    {
      records: [...run.pending.records, ...(isOpen ? [run.record] : [])],
      addJobs: [
        ...timerJobs(run, ports.tools),
        ...(addsJob ? [{ ...job, owner: ports.nodeId }] : []),
      ],
      removeJob: causeId,
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
  // A child that was left, or a subprocess, does not wait for what the run goes on to do.
  if (result.followUps.length > 0) ports.doBeside(result.followUps);
  const stored = result.instance;
  return {
    ...execution,
    job: { ...job, payload },
    causeId: undefined,
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

export async function writeEnd(ports: ExecutePorts, execution: Execution): Promise<Executed> {
  const { run, job, causeId, stored } = execution;
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
    removeJob: job?.id ?? causeId,
    outcome: idempotencyKey === undefined ? undefined : { seq: run.firstSeq },
  });
  ports.faultPoint(stored === undefined ? "after-start-write" : "after-settle-write");
  return result;
}

/** By its script if it has one; a script that fails leaves the duration of the definition. */
async function timeoutOf(
  ports: ExecutePorts,
  execution: Execution,
  { mapping, durationMs }: Timeout,
): Promise<Schedule> {
  if (mapping === undefined || mapping.type === "global") return { delayMs: durationMs };
  try {
    return await ports.scripts.schedule(scriptRequest(ports, execution, mapping));
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    ports.onTrouble("TimeoutScriptFailed", error);
    return { delayMs: durationMs };
  }
}

/**
 * Cancel, exit and timeout do not wait for a run that is under way: they end it. So does a subflow
 * that is through with what its parent faulted in meanwhile, and a run that faults the instance
 * beside it. Updates of the data are spared: they go on, or wait for the retry.
 */
function othersEndedBy({ run, job, request, stored }: Execution): EndsOthers | undefined {
  const { status } = run.instance;
  const takesOver =
    request.kind === "cancel" || request.kind === "exit" || request.kind === "timeout";
  const completes = status === "C";
  const revives = stored?.status === "F" && status !== "F";
  const faults = stored?.status !== "F" && status === "F";
  if (!takesOver && !completes && !revives && !faults) return undefined;
  return {
    ownJob: job?.id,
    ownSeq: run.firstSeq,
    spared: completes ? undefined : run.program.workflow.updateData?.key,
  };
}

type Written = Pick<RunWrite, "records"> &
  Partial<Pick<RunWrite, "addJobs" | "removeJob" | "checkpoint" | "outcome">>;

async function write(
  ports: ExecutePorts,
  execution: Execution,
  what: Written,
): Promise<Extract<Executed, { kind: "done" | "overtaken" | "keyInUse" }>> {
  const { run, stored } = execution;
  const { instance, pending } = run;
  execution.signal?.throwIfAborted();
  const base = stored?.rev ?? 0;
  const followUps = followUpsOf(ports, execution);
  for (const { id } of followUps) ports.held.hold(id);
  const addJobs = [
    ...(what.addJobs ?? []),
    ...followUps.map((job) => ({ ...job, owner: ports.nodeId })),
    ...laterJobs(ports, run),
  ];
  const wanted = runWrite({
    records: what.records,
    removeJob: what.removeJob,
    checkpoint: what.checkpoint,
    outcome: what.outcome,
    addJobs,
    instance: instance.rev === base ? instance : { ...instance, rev: base },
    dataChanged: instance.data !== stored?.data,
    dataChanges: pending.dataChanges,
    leftStates: pending.leftStates,
    endsOthers: othersEndedBy(execution),
    incidents: incidentRows(ports, execution),
    resolvesIncidents: pending.resolvesIncidents ? "handled" : undefined,
    childChanged: instance.openChild?.id !== stored?.openChild?.id,
    addCorrelations: [
      ...correlations(pending),
      ...(stored === undefined && execution.causeId === undefined ? correlationsOf(instance) : []),
    ],
    endedChildren: pending.endedChildren,
    ownOutcome: ownOutcome(execution),
    showsTo: showsTo(instance, stored),
  });
  const letGo = () => {
    for (const { id } of followUps) ports.held.letGo(id);
  };
  try {
    if (stored === undefined) {
      if ((await ports.store.start(wanted)) === "keyInUse") {
        letGo();
        return { kind: "keyInUse" };
      }
    } else if (!(await ports.store.write(wanted))) {
      letGo();
      return { kind: "overtaken" };
    }
  } catch (error) {
    letGo();
    throw error;
  }
  ports.noticed(addJobs);
  return { kind: "done", instance: { ...instance, rev: base + 1 }, followUps };
}

const timerJobs = (run: Run, { uuid }: Tools): JobToAdd[] =>
  run.pending.timers.map((timer) => ({
    id: uuid(),
    type: JobType.scheduled,
    instanceId: run.instance.id,
    ...timer,
  }));

const mask = createSecretMask();

/** An open one says where the run stood, so that a retry can go on from there. */
const incidentRows = (
  { tools }: ExecutePorts,
  { run, request, traceId, retry }: Execution,
): IncidentRow[] =>
  run.pending.incidents.map(({ checkpoint, failure, ...incident }) => ({
    ...incident,
    failure: { ...failure, message: mask.text(failure.message) },
    id: tools.uuid(),
    traceId,
    resume:
      checkpoint === undefined || incident.isResolved
        ? undefined
        : stringifyJson({ request, traceId, retry, checkpoint }),
  }));

// --- relatives -------------------------------------------------------------------------------

const correlations = ({ children }: Pending) =>
  children.map(({ correlationId, parentState, type, id, domain, flow, version }) => ({
    id: correlationId,
    type,
    parentState,
    childId: id,
    childDomain: domain,
    childFlow: flow,
    childVersion: version,
  }));

/** Of a subprocess that a task starts: written by the child, with its first write. */
export const correlationsOf = ({ id, domain, flow, flowVersion, origin }: Instance) =>
  origin?.type !== "P"
    ? []
    : [
        {
          id: origin.correlationId,
          type: origin.type,
          parentId: origin.parent.id,
          parentState: origin.parent.state,
          childId: id,
          childDomain: domain,
          childFlow: flow,
          childVersion: flowVersion,
        },
      ];

type NewJob = Omit<Job, "id" | "attempts" | "sourceState" | "transitionKey"> &
  Partial<Pick<Job, "sourceState" | "transitionKey">>;

const claimedJob = ({ uuid }: Tools, given: NewJob): Job => ({
  sourceState: undefined,
  transitionKey: undefined,
  ...given,
  id: uuid(),
  attempts: 1,
});

/** What follows from this write and belongs to it: this node does it next. */
function followUpsOf({ tools }: ExecutePorts, execution: Execution): Job[] {
  const { run, traceId } = execution;
  const { instance, pending, author, roles, triggerDepth } = run;
  const { id, domain, flow } = instance;
  const children = pending.children.map((plan) =>
    claimedJob(tools, {
      type: JobType.subflowStart,
      instanceId: plan.id,
      domain: plan.domain,
      flow: plan.flow,
      payload: stringifyJson({
        plan,
        parent: { id, domain, flow },
        author,
        roles,
        traceId,
        triggerDepth: plan.type === "P" ? triggerDepth + 1 : triggerDepth,
      }),
    }),
  );
  const left = pending.leftChildren.map((child) =>
    claimedJob(tools, {
      type: JobType.childCancel,
      instanceId: child.id,
      domain: child.domain,
      flow: child.flow,
      payload: stringifyJson({ author, traceId }),
    }),
  );
  const told =
    ownOutcome(execution) === undefined ? [] : tellParent(tools, instance, { ...run, traceId });
  return [...children, ...left, ...told];
}

/** A subflow that has ended, well or not, is its parent's to go on with. */
export function tellParent(
  tools: Tools,
  { id, origin }: Instance,
  { author, headers, roles, triggerDepth, traceId }: Resumed & { traceId: string | undefined },
): Job[] {
  if (origin?.type !== "S") return [];
  const { parent } = origin;
  return [
    claimedJob(tools, {
      type: JobType.resume,
      instanceId: parent.id,
      domain: parent.domain,
      flow: parent.flow,
      sourceState: parent.state,
      transitionKey: id.replaceAll("-", ""),
      payload: stringifyJson({
        request: resumption({ author, headers, roles, triggerDepth }),
        traceId,
      }),
    }),
  ];
}

type Resumed = Pick<Run, "author" | "headers" | "roles"> & {
  triggerDepth?: number | undefined;
};

const resumption = ({ author, headers, roles, triggerDepth }: Resumed) => ({
  kind: "resume",
  transitionKey: "$resume",
  trigger: "automatic",
  payload: { tags: [] },
  author,
  headers,
  roles,
  triggerDepth,
});

/** Work that nobody waits for: the end of a pause, and telling others that the instance rests. */
function laterJobs({ tools }: ExecutePorts, run: Run): JobToAdd[] {
  const { instance, hop, pending } = run;
  const { id: instanceId, current } = instance;
  const sourceState = current.key;
  const jobs: JobToAdd[] = [];
  if (pending.pauseSeconds !== undefined) {
    jobs.push({
      id: tools.uuid(),
      type: JobType.longPoll,
      instanceId,
      sourceState,
      transitionKey: hop.transition.key,
      payload: stringifyJson({ request: resumption(run) }),
      delayMs: pending.pauseSeconds * 1000,
    });
  }
  if (comesToRest(run)) {
    jobs.push({
      id: tools.uuid(),
      type: JobType.notify,
      instanceId,
      sourceState,
      transitionKey: hop.recordId.replaceAll("-", ""),
    });
  }
  return jobs;
}

/** In a state that tells others; an update of the data changes no state. */
const comesToRest = ({ phase, hop, instance, program }: Run) =>
  phase === "settled" &&
  hop.kind !== "updateData" &&
  hop.kind !== "resume" &&
  instance.status !== "F" &&
  (program.workflow.states.get(instance.current.key)?.notifications.length ?? 0) > 0;

function ownOutcome({ run, stored }: Execution): ChildOutcome | undefined {
  const { origin, status } = run.instance;
  if (origin === undefined || status === stored?.status) return undefined;
  if (status === "F") return "faulted";
  if (status !== "C") return undefined;
  return run.hop.kind === "cancel" ? "canceled" : "completed";
}

/** Those who wait show what the one they wait for shows. */
function showsTo({ origin, effective }: Instance, stored: Instance | undefined): readonly string[] {
  if (origin?.type !== "S") return [];
  const { key, type, subType } = effective;
  const before = stored?.effective;
  const isSame = before?.key === key && before.type === type && before.subType === subType;
  return isSame ? [] : origin.ancestors;
}
