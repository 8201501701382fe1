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
  program: Program;
  instance: Instance;
  kind: HopKind;
  transition: Transition;
  trigger: TriggerType;
  payload: Payload;
  author: Author;
  /** Already masked: they are stored with the record. */
  headers: Readonly<Record<string, string>>;
  roles?: readonly string[] | undefined;
  idempotencyKey?: string | undefined;
  triggerDepth?: number | undefined;
}

/** The run of an admitted request, before its first step. */
export function beginRun(request: RunRequest, tools: Tools): Run {
  const { program, instance, payload, author, headers } = request;
  const draft = {
    program,
    instance,
    payload,
    author,
    headers,
    roles: request.roles ?? [],
    idempotencyKey: request.idempotencyKey,
    triggerDepth: request.triggerDepth ?? 0,
    depth: 0,
    firstSeq: instance.lastSeq + 1,
    pending: nothingPending,
  } as Run;
  return beginHop(draft, request, tools);
}

/** The next hop of a chain. Only the first has the caller's payload; the others are the system's. */
export function beginHop(
  run: Run,
  {
    kind,
    transition,
    trigger,
    viaBoundary = false,
  }: Pick<RunRequest, "kind" | "transition" | "trigger"> & { viaBoundary?: boolean },
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
    ...run,
    instance: { ...run.instance, lastSeq: seq },
    payload: first ? run.payload : noPayload,
    hop: { kind, transition, trigger, seq, recordId, from, startedAt, viaBoundary },
    phase: "mapping",
    group: 0,
    failedAttempts: {},
    depth: run.depth + 1,
    body: undefined,
    taskResponses: {},
    metaData: {},
    record,
    changes: 0,
  };
}
