/**
 * One request's journey through the pipeline, as a value.
 *
 * A request causes a chain of hops: the transition asked for, then automatic ones. Each hop has a
 * record. The phases of a hop, in order:
 *
 * mapping    the payload goes through the transition's mapping script
 * onExecute  the transition's tasks
 * onExit     the tasks of the state that is left
 * onEntry    the state has changed; the tasks of the state that is entered
 * auto       which automatic transition, if any, follows
 * timers     the instance will rest here: when do its scheduled transitions fire
 * settled    nothing more to do
 *
 * `advance` moves a run on; it never performs anything. What a run wants written is gathered in
 * `pending` and taken out by whoever writes it, before anything leaves the process and at the end.
 */
import type { State, Transition, Workflow } from "../definition/model.ts";
import type { TriggerType } from "../definition/enumerations.ts";
import type { JsonValue } from "../exact-json.ts";
import type { Author, Instance, InstanceState } from "../instance.ts";
import type { SchemaError } from "../json-schema.ts";
import type { TaskFailure } from "../task-failure.ts";

/** The clock and the ids, handed in. */
export interface Tools {
  now(): Date;
  uuid(): string;
  ulid(): string;
}

export type HopKind = "start" | "state" | "shared" | "cancel" | "exit" | "updateData" | "timeout";

export type Hook = "onExecute" | "onExit" | "onEntry";

export type Phase = "mapping" | Hook | "auto" | "timers" | "settled";

/** A workflow with what was compiled from it. */
export interface Program {
  readonly workflow: Workflow;
  /** The master schema's check of merged data; undefined without a master schema. */
  readonly checkData: ((data: JsonValue) => readonly SchemaError[]) | undefined;
  /** Some script of it may look at the request itself: its query string, its bytes. */
  readonly readsRequest?: boolean;
}

/** What the caller sent, or nothing for hops the system makes. */
export interface Payload {
  readonly attributes: JsonValue | undefined;
  readonly tags: readonly string[];
  readonly stage: string | undefined;
  /** The request itself, for scripts that read it. */
  readonly sent?: SentRequest;
}

export interface SentRequest {
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  /** The body as it came, as text; null without one. */
  readonly rawBody: string | null;
}

export const noPayload: Payload = { attributes: undefined, tags: [], stage: undefined };

export interface Hop {
  readonly kind: HopKind;
  readonly transition: Transition;
  readonly trigger: TriggerType;
  readonly seq: number;
  readonly recordId: string;
  readonly from: string;
  readonly startedAt: Date;
}

/** The row of a hop, as far as it has got. */
export interface TransitionRecord {
  readonly seq: number;
  readonly id: string;
  readonly transitionKey: string;
  readonly fromState: string;
  readonly toState: string | undefined;
  readonly effective: InstanceState | undefined;
  readonly stage: string | undefined;
  readonly trigger: TriggerType;
  readonly startedAt: Date;
  readonly finishedAt: Date | undefined;
  readonly body: JsonValue | undefined;
  /** Set when merging the body made a new data version. */
  readonly dataVersion: string | undefined;
  readonly entityEtag: string | undefined;
  readonly author: Author;
  /** Request headers, masked; only the hop that was asked for has them. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly idempotencyKey: string | undefined;
}

/** A merge beyond the record's own body: a task's output. */
export interface DataChange {
  readonly recordSeq: number;
  readonly index: number;
  readonly version: string;
  readonly entityEtag: string;
  readonly delta: JsonValue;
}

export interface TimerToArm {
  readonly sourceState: string;
  readonly transitionKey: string;
  /** One of the two; a delay is counted on the database's clock. */
  readonly delayMs?: number;
  readonly dueAt?: Date;
}

export interface IncidentToOpen {
  readonly state: string;
  readonly transition: string;
  readonly failure: TaskFailure;
}

export interface Pending {
  readonly records: readonly TransitionRecord[];
  readonly dataChanges: readonly DataChange[];
  /** States that were left: their timers are cancelled. */
  readonly leftStates: readonly string[];
  readonly timers: readonly TimerToArm[];
  readonly incident: IncidentToOpen | undefined;
}

export const nothingPending: Pending = {
  records: [],
  dataChanges: [],
  leftStates: [],
  timers: [],
  incident: undefined,
};

export interface Run {
  readonly program: Program;
  readonly instance: Instance;
  readonly payload: Payload;
  readonly author: Author;
  readonly headers: Readonly<Record<string, string>>;
  readonly idempotencyKey: string | undefined;
  readonly hop: Hop;
  readonly phase: Phase;
  /** Which group of tasks of the hook comes next. */
  readonly group: number;
  /** Hops made so far, this one included. */
  readonly depth: number;
  /** Sequence number of the chain's first record. */
  readonly firstSeq: number;
  /** `context.Body`: the payload, joined by each task's response. */
  readonly body: JsonValue | undefined;
  readonly taskResponses: Readonly<Record<string, JsonValue>>;
  /** `context.MetaData`: what scripts of this hop leave for each other; never stored. */
  readonly metaData: Readonly<Record<string, JsonValue>>;
  readonly record: TransitionRecord;
  /** Merges of this hop so far, beyond the body's. */
  readonly changes: number;
  readonly pending: Pending;
}

export const stateOf = (run: Run, key: string): State | undefined =>
  run.program.workflow.states.get(key);

export const currentState = (run: Run): State => {
  const state = stateOf(run, run.instance.current.key);
  if (state === undefined) {
    throw new Error(`state '${run.instance.current.key}' is not in the workflow's definition`);
  }
  return state;
};

/** Whether an instance that rests here is Busy: nobody but the system moves it on. */
export const parks = ({ subType, transitions }: State): boolean =>
  subType === "busy" ||
  (transitions.length > 0 && transitions.every((t) => t.triggerType === "automatic"));
