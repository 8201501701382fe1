/**
 * A workflow as the engine runs it: every enumeration a word, every default filled in, every script
 * decoded, every reference in full. Made by `normalise-workflow.ts` from a checked component, never
 * changed afterwards. What people read back is the component as they published it, not this.
 */
import type {
  BackoffType,
  ErrorAction,
  ExecutionType,
  Grant,
  NotificationType,
  ResourceLockAction,
  StateSubType,
  StateType,
  SubFlowType,
  TriggerKind,
  TriggerType,
  VersionStrategy,
  WorkflowType,
} from "./enumerations.ts";
import type { Reference } from "./reference.ts";
import type { ScriptCode } from "./script-code.ts";

export interface Workflow {
  readonly key: string;
  readonly domain: string;
  readonly version: string;
  readonly type: WorkflowType;
  readonly labels: readonly Label[];
  /** In the order of the definition. */
  readonly states: ReadonlyMap<string, State>;
  /** Key of the one state of type initial. */
  readonly initialState: string;
  readonly startTransition: Transition;
  readonly sharedTransitions: readonly Transition[];
  readonly cancel: Transition | undefined;
  readonly exit: Transition | undefined;
  readonly updateData: Transition | undefined;
  readonly timeout: Timeout | undefined;
  readonly errorBoundary: ErrorBoundary | undefined;
  readonly functions: readonly Reference[];
  readonly extensions: readonly Reference[];
  /** Master schema of the instance data. */
  readonly schema: Reference | undefined;
  readonly queryRoles: readonly RoleGrant[];
  readonly output: ScriptCode | undefined;
  /** Reads an outside event that starts an instance. */
  readonly eventMapping: ScriptCode | undefined;
  /** Helpers that every script of the workflow may use, beside its own. */
  readonly helpers: readonly Reference[];
  /** `undefined`: the host's default. */
  readonly functionCacheSeconds: number | undefined;
  readonly executionType: ExecutionType | undefined;
}

export interface State {
  readonly key: string;
  readonly type: StateType;
  readonly subType: StateSubType;
  readonly versionStrategy: VersionStrategy;
  readonly labels: readonly Label[];
  readonly view: readonly ViewEntry[];
  readonly transitions: readonly Transition[];
  readonly onEntries: readonly TaskGroup[];
  readonly onExits: readonly TaskGroup[];
  readonly subFlow: SubFlow | undefined;
  readonly errorBoundary: ErrorBoundary | undefined;
  readonly queryRoles: readonly RoleGrant[];
  readonly alias: readonly StateAlias[];
  readonly longPoll: LongPoll | undefined;
  readonly notifications: readonly StateNotification[];
}

export interface Transition {
  readonly key: string;
  /** State key, or `$self`. */
  readonly target: string;
  /** Informational: a transition belongs to the state that declares it. */
  readonly from: string | undefined;
  readonly triggerType: TriggerType;
  readonly triggerKind: TriggerKind;
  readonly versionStrategy: VersionStrategy;
  readonly labels: readonly Label[];
  /** Condition of an automatic transition. */
  readonly rule: ScriptCode | undefined;
  /** Schedule of a scheduled transition. */
  readonly timer: ScriptCode | undefined;
  /** Candidates in order; the first whose rule holds is taken. Empty: no schema. */
  readonly schema: readonly SchemaEntry[];
  /** What the payload goes through before it is merged. */
  readonly mapping: ScriptCode | undefined;
  readonly view: readonly ViewEntry[];
  readonly eventMapping: ScriptCode | undefined;
  readonly onExecutionTasks: readonly TaskGroup[];
  readonly roles: readonly RoleGrant[];
  /** Of a shared or workflow-level transition; a state's own is available in that state. */
  readonly availableIn: AvailableIn;
  readonly annotations: Readonly<Record<string, string>>;
  readonly resourceLock: ResourceLock | undefined;
  readonly executionType: ExecutionType | undefined;
}

export type AvailableIn = "all" | readonly AvailableInState[];

export interface AvailableInState {
  readonly state: string;
  /** Empty: everyone who may take the transition. */
  readonly roles: readonly RoleGrant[];
}

/** Tasks of the same order run side by side; groups run one after the other. */
export interface TaskGroup {
  readonly order: number;
  readonly tasks: readonly TaskBinding[];
}

export interface TaskBinding {
  readonly order: number;
  readonly task: Reference;
  readonly mapping: ScriptCode | undefined;
  readonly errorBoundary: ErrorBoundary | undefined;
}

export interface Label {
  readonly label: string;
  /** `undefined` for the default label, which is the key in no language. */
  readonly language: string | undefined;
}

export interface RoleGrant {
  readonly grant: Grant;
  /** One role is a list of one: then `any` and `all` are the same. */
  readonly match: "any" | "all";
  readonly roles: readonly string[];
}

export interface SlotEntry {
  readonly rule: ScriptCode | undefined;
  readonly reference: Reference;
}
export type SchemaEntry = SlotEntry;

export interface ViewEntry extends SlotEntry {
  readonly loadData: boolean;
  readonly extensions: readonly string[];
}

export interface ErrorBoundary {
  /** In the order they are asked. */
  readonly onError: readonly ErrorRule[];
}

export interface ErrorRule {
  readonly action: ErrorAction;
  /** `*` is all. Either list is enough; with neither the rule is for every error. */
  readonly errorTypes: readonly string[];
  readonly errorCodes: readonly string[];
  readonly transition: string | undefined;
  readonly priority: number;
  readonly retryPolicy: RetryPolicy | undefined;
}

export interface RetryPolicy {
  readonly initialDelayMs: number;
  readonly maxRetries: number;
  readonly backoffType: BackoffType;
  readonly backoffMultiplier: number;
  readonly maxDelayMs: number;
  readonly useJitter: boolean;
}

export interface Timeout {
  readonly key: string;
  readonly target: string;
  readonly versionStrategy: VersionStrategy;
  readonly durationMs: number;
  readonly mapping: ScriptCode | undefined;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface SubFlow {
  readonly type: SubFlowType;
  readonly process: Reference;
  readonly mapping: ScriptCode | undefined;
  readonly overrides: SubFlowOverrides;
}

/** What the parent changes in the child. Each replaces the child's own, none merges. */
export interface SubFlowOverrides {
  readonly views: ReadonlyMap<string, Reference>;
  readonly transitions: ReadonlyMap<
    string,
    {
      readonly roles: readonly RoleGrant[] | undefined;
      readonly views: ReadonlyMap<string, Reference>;
    }
  >;
  readonly states: ReadonlyMap<
    string,
    {
      readonly queryRoles: readonly RoleGrant[] | undefined;
      readonly longPoll: LongPoll | undefined;
      readonly views: ReadonlyMap<string, Reference>;
    }
  >;
  readonly timeout: Timeout | undefined;
}

export interface ResourceLock {
  readonly keyExpression: ScriptCode;
  readonly action: ResourceLockAction;
  readonly ttlSeconds: number;
}

export interface LongPoll {
  readonly terminate: boolean;
  readonly fallbackTimeoutSeconds: number;
  readonly roles: readonly RoleGrant[];
  readonly rule: ScriptCode | undefined;
}

export interface StateAlias {
  readonly name: string;
  readonly roles: readonly RoleGrant[];
  readonly labels: readonly Label[];
}

export interface StateNotification {
  readonly type: NotificationType;
  readonly mapping: ScriptCode;
  readonly rule: ScriptCode | undefined;
}
