/** Where a run ends: at rest, finished, or faulted. */
import type { InstanceStatus } from "../instance.ts";
import type { TaskFailure } from "../task-failure.ts";
import type { BoundaryDecision } from "./boundary.ts";
import { checkpointOf } from "./checkpoint.ts";
import type { Advance } from "./happenings.ts";
import {
  type ChildOutcome,
  type IncidentToOpen,
  type Run,
  type TimerToArm,
  type Tools,
  type TransitionRecord,
  currentState,
  isStatusNeutral,
  parks,
} from "./run.ts";

export const settled = (run: Run): Advance => ({ kind: "settled", run });

/** The subflow of a state that is left has nobody who waits for it. */
export function leaveChild(run: Run): Run {
  const { instance, pending } = run;
  const { openChild: child } = instance;
  if (child === undefined) return run;
  return {
    ...run,
    instance: { ...instance, openChild: undefined, effective: instance.current },
    pending: {
      ...pending,
      endedChildren: [...pending.endedChildren, { id: child.id, outcome: "canceled" }],
      leftChildren: [...pending.leftChildren, child],
    },
  };
}

export function rest(
  run: Run,
  timers: readonly TimerToArm[],
  tools: Tools,
  status = isStatusNeutral(run) ? run.instance.status : restingStatus(run),
): Advance {
  const closed = closeRecord(run, tools);
  return settled({
    ...closed,
    phase: "settled",
    instance: touched({ ...closed, instance: { ...closed.instance, status } }, tools),
    pending: { ...closed.pending, timers: [...closed.pending.timers, ...timers] },
  });
}

/** Active when somebody can move it on; Busy with an open subflow, or where only rules could leave. */
export const restingStatus = (run: Run): InstanceStatus =>
  run.instance.openChild !== undefined || parks(currentState(run)) ? "B" : "A";

/** Ends an instance without leaving or entering anything: what its run was meant to do is not done. */
export const endHere = (run: Run, tools: Tools): Run => finish(resolveIncidents(run), tools);

export function finish(run: Run, tools: Tools): Run {
  const closed = closeRecord(leaveChild(run), tools);
  const instance = touched(closed, tools);
  return {
    ...closed,
    phase: "settled",
    instance: { ...instance, status: "C", completedAt: tools.now() },
  };
}

/** The effective state and the stage are snapshotted together with `toState`. */
export function closeRecord(run: Run, tools: Tools): Run {
  if (run.hop.kind === "resume") return run;
  const { instance, record, pending } = run;
  const closed: TransitionRecord = {
    ...record,
    toState: instance.current.key,
    effective: instance.effective,
    stage: instance.stage,
    finishedAt: tools.now(),
  };
  const next = {
    ...run,
    record: closed,
    pending: { ...pending, records: [...pending.records, closed] },
  };
  return run.hop.viaBoundary ? resolveIncidents(next) : next;
}

/** All of them, those of this run included. */
export function resolveIncidents(run: Run): Run {
  const { instance, pending } = run;
  if (!instance.hasActiveIncident) return run;
  return {
    ...run,
    instance: { ...instance, hasActiveIncident: false },
    pending: {
      ...pending,
      incidents: pending.incidents.map((it) => ({
        ...it,
        isResolved: true,
        checkpoint: undefined,
      })),
      resolvesIncidents: true,
    },
  };
}

export function withoutChild(run: Run, outcome: ChildOutcome): Run {
  const { instance, pending } = run;
  const { id } = instance.openChild!;
  return {
    ...run,
    instance: { ...instance, openChild: undefined, effective: instance.current },
    pending: { ...pending, endedChildren: [...pending.endedChildren, { id, outcome }] },
  };
}

export function withIncident(
  run: Run,
  failure: TaskFailure,
  decision: BoundaryDecision | undefined,
  retryCount: number,
): Run {
  const { instance, pending } = run;
  const incident: IncidentToOpen = {
    state: instance.current.key,
    transition: run.hop.transition.key,
    failure,
    boundary:
      decision === undefined ? undefined : { action: decision.rule.action, level: decision.level },
    retryCount,
    isResolved: false,
    checkpoint: checkpointOf(run),
  };
  return {
    ...run,
    instance: {
      ...instance,
      hasActiveIncident: true,
      incidentCount: instance.incidentCount + 1,
    },
    pending: { ...pending, incidents: [...pending.incidents, incident] },
  };
}

/** The record stays open: a retry goes on with it. */
export function fault(
  run: Run,
  failure: TaskFailure,
  tools: Tools,
  decision?: BoundaryDecision,
  retries = 0,
): Run {
  const noted = withIncident(unplanned(run), failure, decision, retries);
  const open = run.record.finishedAt === undefined;
  const records = open ? [...run.pending.records, run.record] : run.pending.records;
  return {
    ...noted,
    phase: "settled",
    instance: { ...touched(noted, tools), status: "F" },
    pending: { ...noted.pending, records, timers: [] },
  };
}

/** A subflow that was only planned did not happen: a retry plans it anew. */
function unplanned(run: Run): Run {
  const { instance, pending } = run;
  const children = pending.children.filter(({ id }) => id !== instance.openChild?.id);
  if (children.length === pending.children.length) return run;
  return {
    ...run,
    phase: "subflow",
    instance: { ...instance, openChild: undefined },
    pending: { ...pending, children },
  };
}

export const pipelineFailure = (code: string, message: string): TaskFailure => ({
  code,
  layer: "Pipeline",
  message,
  retryable: false,
});

export const touched = (run: Run, tools: Tools) => ({
  ...run.instance,
  modifiedAt: tools.now(),
  modifiedBy: run.author,
});
