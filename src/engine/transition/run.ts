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
 * subflow    the state opens a subflow: what does it start with
 * longPoll   does the caller's poll end here, so that the rest waits until it says so
 * auto       which automatic transition, if any, follows
 * timers     the instance will rest here: when do its scheduled transitions fire
 * settled    nothing more to do
 *
 * A run that goes on after a subflow has ended begins with `resume`, after a poll with `auto`; it
 * makes no record of its own until a transition follows.
 *
 * `advance` moves a run on; it never performs anything. What a run wants written is gathered in
 * `pending` and taken out by whoever writes it, before anything leaves the process and at the end.
 */
import type { State, Transition, Workflow } from "../definition/model.ts";
import type { ErrorAction, TriggerType } from "../definition/enumerations.ts";
import type { JsonObject, JsonValue } from "../exact-json.ts";
import type { Author, Instance, InstanceState, OpenChild } from "../instance.ts";
import type { SchemaError } from "../json-schema.ts";
import type { TaskFailure } from "../task-failure.ts";
import type { BoundaryLevel } from "./boundary.ts";

/** The clock and the ids, handed in. */
export interface Tools {
  now(): Date;
  uuid(): string;
  ulid(): string;
}

export type HopKind =
  | "start"
  | "state"
  | "shared"
  | "cancel"
  | "exit"
  | "updateData"
  | "timeout"
  /** Taken because an error boundary says so, from whatever state. */
  | "boundary"
  /** No transition: the run goes on after what it waited for. */
  | "resume";

export type Hook = "onExecute" | "onExit" | "onEntry";

export type Phase =
  | "mapping"
  | Hook
  | "subflow"
  | "longPoll"
  | "resume"
  | "auto"
  | "timers"
  | "settled";

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
  /** An error boundary asked for it: once it has gone through, the incidents are resolved. */
  readonly viaBoundary: boolean;
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
  /** The rule that decided, if one matched. */
  readonly boundary: { readonly action: ErrorAction; readonly level: BoundaryLevel } | undefined;
  /** Attempts beyond the first that were made before it was opened. */
  readonly retryCount: number;
  /** What went wrong has been dealt with in the same run. */
  readonly isResolved: boolean;
  /** Where the run stood: a retry goes on from there. */
  readonly checkpoint: JsonObject | undefined;
}

/** A child to start, decided in full before anything is written. */
export interface ChildPlan {
  readonly correlationId: string;
  /** Of the parent: the state that opens it. Beside a subprocess the parent may have left it since. */
  readonly parentState: string;
  readonly type: "S" | "P";
  readonly id: string;
  readonly domain: string;
  readonly flow: string;
  readonly version: string;
  readonly key: string | undefined;
  readonly tags: readonly string[];
  readonly attributes: JsonValue | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

export type ChildOutcome = "completed" | "faulted" | "canceled";

export interface Pending {
  readonly records: readonly TransitionRecord[];
  readonly dataChanges: readonly DataChange[];
  /** States that were left: their timers are cancelled. */
  readonly leftStates: readonly string[];
  readonly timers: readonly TimerToArm[];
  readonly incidents: readonly IncidentToOpen[];
  /** Those that were open before this run are resolved. */
  readonly resolvesIncidents: boolean;
  readonly children: readonly ChildPlan[];
  /** Children whose end has been taken note of. */
  readonly endedChildren: readonly { readonly id: string; readonly outcome: ChildOutcome }[];
  /** Children nobody waits for any more: they are to be cancelled. */
  readonly leftChildren: readonly OpenChild[];
  /** The caller's poll ends here: the run goes on when it says so, or after a while. */
  readonly pauseSeconds: number | undefined;
}

export const nothingPending: Pending = {
  records: [],
  dataChanges: [],
  leftStates: [],
  timers: [],
  incidents: [],
  resolvesIncidents: false,
  children: [],
  endedChildren: [],
  leftChildren: [],
  pauseSeconds: undefined,
};

export interface Run {
  readonly program: Program;
  readonly instance: Instance;
  readonly payload: Payload;
  readonly author: Author;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the caller. */
  readonly roles: readonly string[];
  readonly idempotencyKey: string | undefined;
  /** How many tasks that start or move instances led to this run, one inside the other. */
  readonly triggerDepth: number;
  readonly hop: Hop;
  readonly phase: Phase;
  /** Which group of tasks of the hook comes next. */
  readonly group: number;
  /** Failed attempts of the tasks of that group, by position, as far as no journal counts them. */
  readonly failedAttempts: Readonly<Record<string, number>>;
  /** Hops made so far, this one included. */
  readonly depth: number;
  /** It goes on after a fault: nothing else runs beside it. */
  readonly isRetry: boolean | undefined;
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

/**
 * An update of the data leaves the status as it is, because others may run beside it. One that ends
 * somebody's run, or its own after a fault, does not.
 */
export const isStatusNeutral = ({ hop, isRetry }: Run): boolean =>
  hop.kind === "updateData" && !hop.viaBoundary && isRetry !== true;

/** Whether an instance that rests here is Busy: nobody but the system moves it on. */
export const parks = ({ subType, transitions }: State): boolean =>
  subType === "busy" ||
  (transitions.length > 0 && transitions.every((t) => t.triggerType === "automatic"));
