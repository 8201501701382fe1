import type { TriggerType } from "../definition/enumerations.ts";
import type { Transition } from "../definition/model.ts";
import type { Author, Instance } from "../instance.ts";
import {
  noPayload,
  nothingPending,
  type HopKind,
  type Payload,
  type Program,
  type Run,
  type Tools,
  type TransitionRecord,
} from "./run.ts";

export interface RunRequest {
  kind: HopKind;
  trigger: TriggerType;
  payload: Payload;
  author: Author;
  /** Already masked: they are stored with the record. */
  headers: Readonly<Record<string, string>>;
  roles?: readonly string[] | undefined;
  idempotencyKey?: string | undefined;
  triggerDepth?: number | undefined;
}

/** What a request is sent to. */
export interface Addressed {
  program: Program;
  instance: Instance;
  transition: Transition;
}

/** The run of an admitted request, before its first step. */
export function beginRun(
  request: RunRequest,
  { program, instance, transition }: Addressed,
  tools: Tools,
): Run {
  const { kind, trigger, payload, author, headers } = request;
  const before: BeforeHop = {
    program,
    instance,
    payload,
    author,
    headers,
    roles: request.roles ?? [],
    idempotencyKey: request.idempotencyKey,
    triggerDepth: request.triggerDepth ?? 0,
    depth: 0,
    isRetry: undefined,
    firstSeq: instance.lastSeq + 1,
    pending: nothingPending,
  };
  return beginHop(before, { kind, transition, trigger }, tools);
}

/** What a run has apart from its hops. */
export type BeforeHop = Pick<
  Run,
  | "program"
  | "instance"
  | "payload"
  | "author"
  | "headers"
  | "roles"
  | "idempotencyKey"
  | "triggerDepth"
  | "depth"
  | "isRetry"
  | "firstSeq"
  | "pending"
>;

export interface NewHop {
  kind: HopKind;
  transition: Transition;
  trigger: TriggerType;
  viaBoundary?: boolean;
}

/**
 * The next hop of a chain. Only the first has the caller's payload; the others are the system's.
 *
 * The run is written out member by member: a spread that more members are added to gets a hidden
 * class of its own each time, and everything that looks at the run afterwards is slow.
 */
export function beginHop(
  run: BeforeHop,
  { kind, transition, trigger, viaBoundary = false }: NewHop,
  tools: Tools,
): Run {
  const first = run.depth === 0;
  const seq = run.instance.lastSeq + 1;
  const recordId = tools.uuid();
  const startedAt = tools.now();
  const from = run.instance.current.key;
  const record: TransitionRecord = {
    seq,
    id: recordId,
    transitionKey: transition.key,
    fromState: from,
    toState: undefined,
    effective: undefined,
    stage: undefined,
    trigger,
    startedAt,
    finishedAt: undefined,
    body: undefined,
    dataVersion: undefined,
    entityEtag: undefined,
    author: run.author,
    headers: first ? run.headers : undefined,
    idempotencyKey: first ? run.idempotencyKey : undefined,
  };
  return {
    program: run.program,
    instance: { ...run.instance, lastSeq: seq },
    payload: first ? run.payload : noPayload,
    author: run.author,
    headers: run.headers,
    roles: run.roles,
    idempotencyKey: run.idempotencyKey,
    triggerDepth: run.triggerDepth,
    hop: { kind, transition, trigger, seq, recordId, from, startedAt, viaBoundary },
    phase: "mapping",
    group: 0,
    failedAttempts: {},
    depth: run.depth + 1,
    isRetry: run.isRetry,
    firstSeq: run.firstSeq,
    body: undefined,
    taskResponses: {},
    metaData: {},
    record,
    changes: 0,
    pending: run.pending,
  };
}
