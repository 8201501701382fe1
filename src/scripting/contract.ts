/**
 * The table of what a script may be asked, shared by the host, by the prelude inside the sandbox and
 * by the generator of the authors' typings. Plain data: this file runs on both sides of the wall and
 * imports nothing.
 *
 * One call: the host writes a `ScriptCall` as JSON, `prelude/invoke.ts` runs the handler and answers
 * with a `ScriptAnswer` as JSON. Member names of `context` are those that the script sees
 * (`Body`, `Instance.CurrentState`), so that nothing is renamed on the way.
 */

/** Members of ScriptContext that carry data from the host (scripting.md §4), in that order. */
export const contextMembers = [
  "Body",
  "Headers",
  "QueryParameters",
  "RouteValues",
  "RawBody",
  "EventPayload",
  "Instance",
  "Workflow",
  "Transition",
  "CurrentTransition",
  "TaskResponse",
  "OutputResponse",
  "MetaData",
  "Definitions",
  "Runtime",
  "Incident",
  "Related",
] as const;
export type ContextMember = (typeof contextMembers)[number];

/** Methods of ScriptContext, and the members they read or write. `Mutations` needs nothing. */
export const contextMethods: Readonly<Record<string, readonly ContextMember[]>> = {
  SetBody: ["Body"],
  SetStandardResponse: ["Body", "TaskResponse"],
  SetOutputResponse: ["OutputResponse"],
  Mutations: [],
};

/** What a handler is called with, in order. */
export type HandlerArgument = "task" | "context" | "channel" | "item" | "result";

/**
 * How an answer is read; the normalised value is in `ScriptAnswer.value`.
 *
 * response  ResponseValue; a missing answer is an empty response (null where the row is nullable)
 * boolean   true or false; anything else is an error
 * schedule  { dueAt } | { delayMs } | { cron }
 * json      any JSON; a missing answer is null
 * message   MessageValue or null (skip this channel)
 * metadata  MetadataValue
 * event     EventValue
 * items     array or null
 * text      string or null (blank counts as null)
 */
export type AnswerForm =
  | "response"
  | "boolean"
  | "schedule"
  | "json"
  | "message"
  | "metadata"
  | "event"
  | "items"
  | "text";

export interface HandlerRow {
  /** The interface of scripting.md §3 that the slot asks for. */
  readonly interface: string;
  /** The method, or the exported function. */
  readonly handler: string;
  readonly arguments: readonly HandlerArgument[];
  readonly answer: AnswerForm;
  /** The handler may answer nothing, which means something of its own: `value` is null then. */
  readonly nullable?: true;
  /** The handler's real effect is on the task it was given: `ScriptAnswer.task` has the config. */
  readonly changesTask?: true;
  /** May be left out of the script: the call answers `value: null` in place of an error. */
  readonly optional?: true;
}

const row = <const Row extends HandlerRow>(value: Row): Row => value;

export const handlers = {
  "mapping.input": row({
    interface: "IMapping",
    handler: "InputHandler",
    arguments: ["task", "context"],
    answer: "response",
    changesTask: true,
    optional: true,
  }),
  "mapping.output": row({
    interface: "IMapping",
    handler: "OutputHandler",
    arguments: ["context"],
    answer: "response",
  }),
  output: row({
    interface: "IOutputHandler",
    handler: "OutputHandler",
    arguments: ["context"],
    answer: "response",
  }),
  condition: row({
    interface: "IConditionMapping",
    handler: "Handler",
    arguments: ["context"],
    answer: "boolean",
  }),
  timer: row({
    interface: "ITimerMapping",
    handler: "Handler",
    arguments: ["context"],
    answer: "schedule",
  }),
  transition: row({
    interface: "ITransitionMapping",
    handler: "Handler",
    arguments: ["context"],
    answer: "json",
  }),
  "subflow.input": row({
    interface: "ISubFlowMapping",
    handler: "InputHandler",
    arguments: ["context"],
    answer: "response",
  }),
  "subflow.output": row({
    interface: "ISubFlowMapping",
    handler: "OutputHandler",
    arguments: ["context"],
    answer: "response",
  }),
  "subprocess.input": row({
    interface: "ISubProcessMapping",
    handler: "InputHandler",
    arguments: ["context"],
    answer: "response",
  }),
  "notification.channel": row({
    interface: "INotificationMapping",
    handler: "ChannelHandler",
    arguments: ["channel", "context"],
    answer: "message",
    nullable: true,
  }),
  "notification.state": row({
    interface: "IStateNotificationMapping",
    handler: "EnrichAsync",
    arguments: ["context"],
    answer: "metadata",
    optional: true,
  }),
  /** Ours: the mapping may look at what became of the channels, as other tasks' mappings do. */
  "notification.output": row({
    interface: "INotificationMapping",
    handler: "OutputHandler",
    arguments: ["context"],
    answer: "response",
    optional: true,
  }),
  event: row({
    interface: "IEventMapping",
    handler: "Handler",
    arguments: ["context"],
    answer: "event",
  }),
  "fanOut.items": row({
    interface: "IFanOutMapping",
    handler: "ItemSelector",
    arguments: ["context"],
    answer: "items",
    nullable: true,
    optional: true,
  }),
  "fanOut.itemInput": row({
    interface: "IFanOutMapping",
    handler: "ItemInputHandler",
    arguments: ["task", "context", "item"],
    answer: "response",
    changesTask: true,
  }),
  "fanOut.output": row({
    interface: "IFanOutMapping",
    handler: "OutputHandler",
    arguments: ["context", "result"],
    answer: "response",
    nullable: true,
    optional: true,
  }),
  cacheKey: row({
    interface: "ICacheKeyMapping",
    handler: "Handler",
    arguments: ["context"],
    answer: "text",
    nullable: true,
  }),
} as const satisfies Record<string, HandlerRow>;

export type HandlerKind = keyof typeof handlers;

/** Every method name that some slot asks for. */
export const handlerNames: readonly string[] = [
  ...new Set(Object.values(handlers).map(({ handler }) => handler)),
];

/** Asked for in place of a handler: which handlers the script has (`value` is a list of names). */
export const handlerListing = "$handlers";

/** Bounds that are part of the contract; the sandbox has its own for time and memory. */
export const limits = {
  stageLength: 120,
  relatedReads: 10,
  logEntries: 200,
  logMessageLength: 4096,
  logTotalLength: 65_536,
  xmlLength: 5 * 1024 * 1024,
  xmlDepth: 512,
  xpathLength: 4096,
} as const;

/** A task as an input handler gets it. `type` is the text code of the task's class. */
export interface TaskDefinition {
  readonly type: string;
  readonly key: string;
  readonly domain: string;
  readonly version: string;
  readonly flow: string;
  readonly config: Readonly<Record<string, unknown>>;
}

export interface ScriptCall {
  readonly kind: HandlerKind;
  readonly context: { readonly [Member in ContextMember]?: unknown };
  /**
   * What was sent of the context, when that is less than everything: reading another member is an
   * error that says so, because a silent null would be taken for data.
   */
  readonly members?: readonly ContextMember[];
  readonly task?: TaskDefinition;
  readonly channel?: string;
  readonly item?: { readonly Index: number; readonly Value: unknown; readonly ItemKey: string };
  readonly result?: Readonly<Record<string, unknown>>;
  /** The allow-listed part of the host's configuration, by `:`-separated path. */
  readonly config?: Readonly<Record<string, string>>;
  /** store → secret → key → value: what this script may read. */
  readonly secrets?: Readonly<
    Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>
  >;
}

/** `Instance` in a call: what is stored. The script sees the predicates too (scripting.md §4.1). */
export interface InstanceData {
  readonly Id: string;
  readonly Key: string | null;
  readonly Flow: string;
  readonly FlowVersion: string;
  readonly Data: unknown;
  readonly LatestData?: { readonly Id: string | null; readonly Version: string | null } | null;
  readonly CurrentState: string | null;
  readonly CurrentStateType?: string | number | null;
  readonly CurrentStateSubType?: string | number | null;
  readonly EffectiveState?: string | null;
  readonly EffectiveStateType?: string | number | null;
  readonly EffectiveStateSubType?: string | number | null;
  readonly Stage?: string | null;
  readonly Status: string;
  readonly EffectiveStatus?: string | null;
  /** How it was started: `R` root, `S` subflow, `P` subprocess. */
  readonly Type?: string;
  readonly Tags?: readonly string[];
  readonly CreatedAt?: string;
  readonly ModifiedAt?: string | null;
  readonly CompletedAt?: string | null;
  readonly Duration?: unknown;
  readonly CreatedBy?: string | null;
  readonly CreatedByBehalfOf?: string | null;
  readonly ModifiedBy?: string | null;
  readonly ModifiedByBehalfOf?: string | null;
  readonly ExtraProperties?: Readonly<Record<string, unknown>>;
  readonly HasActiveIncident?: boolean;
  readonly HasActiveSubFlow?: boolean;
  readonly ActiveCorrelations?: readonly unknown[];
  /** Path → clear text of the encrypted fields that `DecryptAsync` may open. Not seen as a member. */
  readonly Decrypted?: Readonly<Record<string, string>>;
}

/** `Related` in a call: read beforehand by the host, because a script cannot call out. */
export interface RelatedData {
  readonly HasParent?: boolean;
  readonly Parent?: Readonly<Record<string, unknown>> | null;
  /** Oldest first. */
  readonly Subs?: readonly Readonly<Record<string, unknown>>[];
  /** Why the host could not read them: every read by the script fails with it. */
  readonly Error?: string;
}

export interface ResponseValue {
  readonly key: string | null;
  readonly data: unknown;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly statusCode: number | null;
  readonly routeValues: unknown;
  readonly tags: readonly string[];
}

export type ScheduleValue =
  | { readonly dueAt: string }
  | { readonly delayMs: number }
  | { readonly cron: string };

export interface MetadataValue {
  readonly metadata: Readonly<Record<string, string>>;
  readonly operation: string;
}

export interface MessageValue extends MetadataValue {
  readonly data: unknown;
}

export interface EventValue {
  readonly instanceKey: string | null;
  readonly body: unknown;
  readonly selector: unknown;
}

export const logLevels = ["Trace", "Debug", "Information", "Warning", "Error", "Critical"] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LogEntry {
  readonly level: LogLevel;
  readonly message: string;
}

/** Members are absent when the script did nothing of the kind. */
export interface ScriptAnswer {
  /** By the row's `answer`. */
  readonly value: unknown;
  /** The task's config as the handler left it; names as written. */
  readonly task?: Readonly<Record<string, unknown>>;
  /** Entries of MetaData that were written; null for one that was removed. */
  readonly metaData?: Readonly<Record<string, unknown>>;
  /** `Mutations.SetStage`: the new stage, null to clear it. */
  readonly stage?: string | null;
  /** `Body` after `SetBody` or `SetStandardResponse`. */
  readonly body?: unknown;
  /** Written by `SetStandardResponse` and `SetOutputResponse`. */
  readonly taskResponse?: Readonly<Record<string, unknown>>;
  readonly outputResponse?: Readonly<Record<string, unknown>>;
  /** Only where there is no host to tell at once (see prelude/host-log.ts). */
  readonly logs?: readonly LogEntry[];
  /** How many log entries were beyond the limits. */
  readonly logsDropped?: number;
}
