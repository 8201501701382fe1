/**
 * A run on disk: what another node needs to go on with it after a crash. The instance and the
 * records are rows of their own; here is only where the run stood.
 */
import type { TriggerType } from "../definition/enumerations.ts";
import type { Transition, Workflow } from "../definition/model.ts";
import { isJsonObject, parseJson, type JsonObject, type JsonValue } from "../exact-json.ts";
import type { Author, Instance } from "../instance.ts";
import { resolveSpecial } from "./admit.ts";
import { resumption } from "./resume-run.ts";
import {
  noPayload,
  nothingPending,
  type HopKind,
  type Payload,
  type Phase,
  type Program,
  type Run,
  type TransitionRecord,
} from "./run.ts";

/** The request behind a run, as a job carries it. */
export interface QueuedRequest {
  readonly kind: HopKind;
  readonly transitionKey: string;
  readonly trigger: TriggerType;
  readonly payload: Payload;
  readonly author: Author;
  readonly headers: Readonly<Record<string, string>>;
  readonly roles?: readonly string[] | undefined;
  readonly idempotencyKey: string | undefined;
  readonly triggerDepth?: number | undefined;
}

export interface QueuedRun {
  readonly request: QueuedRequest;
  readonly traceId?: string;
  /** Which retry of the instance it is, and what its caller sent along. */
  readonly retry?: number;
  readonly retryData?: JsonValue;
  /** Until the retry has written something: those who wait for the instance may not know of it yet. */
  readonly isRetried?: boolean;
  /** Absent until the run has written something. */
  readonly checkpoint: JsonObject | undefined;
}

/** What a transition's job says. */
export const queuedRunIn = (payload: string | undefined): QueuedRun =>
  parseJson(payload ?? "{}") as unknown as QueuedRun;

export const requestOf = (run: Run): QueuedRequest => ({
  kind: run.hop.kind,
  transitionKey: run.hop.transition.key,
  trigger: run.hop.trigger,
  payload: run.payload,
  author: run.author,
  headers: run.headers,
  roles: run.roles,
  idempotencyKey: run.idempotencyKey,
  triggerDepth: run.triggerDepth,
});

export function checkpointOf(run: Run): JsonObject {
  const { hop, record } = run;
  return plain({
    kind: hop.kind,
    transitionKey: hop.transition.key,
    trigger: hop.trigger,
    seq: hop.seq,
    recordId: hop.recordId,
    from: hop.from,
    startedAt: hop.startedAt.toISOString(),
    viaBoundary: hop.viaBoundary || undefined,
    phase: run.phase,
    group: run.group,
    failedAttempts: run.failedAttempts,
    depth: run.depth,
    firstSeq: run.firstSeq,
    changes: run.changes,
    body: run.body,
    taskResponses: run.taskResponses,
    metaData: run.metaData,
    recordBody: record.body,
    dataVersion: record.dataVersion,
    entityEtag: record.entityEtag,
    hasHeaders: record.headers !== undefined,
    idempotencyKey: record.idempotencyKey,
  });
}

/** JSON knows no undefined. */
const plain = (members: Record<string, unknown>): JsonObject =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as JsonObject;

interface Stored {
  kind: HopKind;
  transitionKey: string;
  trigger: TriggerType;
  seq: number;
  recordId: string;
  from: string;
  startedAt: string;
  viaBoundary?: boolean;
  phase: Phase;
  group: number;
  failedAttempts?: Record<string, number>;
  depth: number;
  firstSeq: number;
  changes: number;
  body?: JsonValue;
  taskResponses: Record<string, JsonValue>;
  metaData: Record<string, JsonValue>;
  recordBody?: JsonValue;
  dataVersion?: string;
  entityEtag?: string;
  hasHeaders: boolean;
  idempotencyKey?: string;
}

export function resumeRun(
  program: Program,
  instance: Instance,
  request: QueuedRequest,
  checkpoint: JsonObject,
): Run {
  const stored = checkpoint as unknown as Stored;
  const transition = findTransition(program.workflow, stored);
  const startedAt = new Date(stored.startedAt);
  const isResumption = stored.kind === "resume";
  const record: TransitionRecord = {
    seq: stored.seq,
    id: stored.recordId,
    transitionKey: transition.key,
    fromState: stored.from,
    toState: undefined,
    effective: undefined,
    stage: undefined,
    trigger: stored.trigger,
    startedAt,
    finishedAt: isResumption ? startedAt : undefined,
    body: stored.recordBody,
    dataVersion: stored.dataVersion,
    entityEtag: stored.entityEtag,
    author: request.author,
    headers: stored.hasHeaders ? request.headers : undefined,
    idempotencyKey: stored.idempotencyKey,
  };
  return {
    program,
    instance,
    payload: stored.depth === 1 ? request.payload : noPayload,
    author: request.author,
    headers: request.headers,
    roles: request.roles ?? [],
    idempotencyKey: request.idempotencyKey,
    triggerDepth: request.triggerDepth ?? 0,
    hop: {
      kind: stored.kind,
      transition,
      trigger: stored.trigger,
      seq: stored.seq,
      recordId: stored.recordId,
      from: stored.from,
      startedAt,
      viaBoundary: stored.viaBoundary === true,
    },
    phase: stored.phase,
    group: stored.group,
    failedAttempts: stored.failedAttempts ?? {},
    depth: stored.depth,
    isRetry: undefined,
    firstSeq: stored.firstSeq,
    body: stored.body,
    taskResponses: isJsonObject(stored.taskResponses) ? stored.taskResponses : {},
    metaData: isJsonObject(stored.metaData) ? stored.metaData : {},
    record,
    changes: stored.changes,
    pending: nothingPending,
  };
}

/** A boundary may ask for any transition: the state's own first, a shared one, another state's. */
export function findAnywhere(
  workflow: Workflow,
  key: string,
  from: string,
): Transition | undefined {
  const own = workflow.states.get(from)?.transitions ?? [];
  const others = [...workflow.states.values()].flatMap((state) => state.transitions);
  return [...own, ...workflow.sharedTransitions, ...others].find((it) => it.key === key);
}

export function findTransition(
  workflow: Workflow,
  { kind, transitionKey, from }: { kind: HopKind; transitionKey: string; from: string },
): Transition {
  const found = ((): Transition | undefined => {
    switch (kind) {
      case "start":
        return workflow.startTransition;
      case "state":
        return workflow.states.get(from)?.transitions.find((t) => t.key === transitionKey);
      case "shared":
        return workflow.sharedTransitions.find((t) => t.key === transitionKey);
      case "boundary":
        return findAnywhere(workflow, transitionKey, from);
      case "resume":
        return resumption;
      default:
        return resolveSpecial(workflow, kind === "timeout" ? "$timeout" : transitionKey)
          ?.transition;
    }
  })();
  if (found === undefined) {
    throw new Error(`transition '${transitionKey}' is not in ${workflow.key} ${workflow.version}`);
  }
  return found;
}
