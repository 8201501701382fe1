import type { Dynamic } from "./dynamic.ts";
import type { HeaderMap } from "./headers.ts";
import type { InstanceSnapshot } from "./instance.ts";
import type { InstanceMutations } from "./mutations.ts";
import type { RelatedInstances } from "./related.ts";

/** What a script sees. Everything in it is a copy that belongs to this one call. */
export interface ScriptContext {
  /** The request's payload, with the answer of every finished task merged into it. */
  readonly Body: Dynamic;
  /** Request headers by lower-case name; `get(name)` ignores case. */
  readonly Headers: HeaderMap | null;
  /** The query string; functions only. */
  readonly QueryParameters: Dynamic;
  readonly RouteValues: Dynamic;
  /** The request body as it came, for signature checks; null for internal executions. */
  readonly RawBody: string | null;
  /** The inbound event; event mappings only. */
  readonly EventPayload: Dynamic;
  /** Null in domain functions. */
  readonly Instance: InstanceSnapshot | null;
  readonly Workflow: WorkflowInfo | null;
  /** Null outside a transition. */
  readonly Transition: TransitionInfo | null;
  /** The request of this transition as it came, untouched by later merges. */
  readonly CurrentTransition: {
    readonly Data: Dynamic;
    readonly Header: HeaderMap | null;
  } | null;
  /** The answer of each finished task, by the variable name of its key (`get-user` → `getUser`). */
  readonly TaskResponse: Record<string, Dynamic>;
  /** The output handler's `Data` of each finished task; functions and extensions only. */
  readonly OutputResponse: Record<string, Dynamic>;
  /** Scratch space of this execution; may be written. */
  readonly MetaData: Record<string, Dynamic>;
  readonly Definitions: Record<string, Dynamic>;
  readonly Runtime: { readonly Domain: string; readonly Version: string } | null;
  readonly Incident: {
    readonly HasActiveIncident: boolean;
    readonly ActiveIncident: Dynamic;
    readonly TotalIncidentCount: number;
  } | null;
  readonly Related: RelatedInstances;
  readonly Mutations: InstanceMutations;

  /** Merges into `Body`: objects member by member, lists and scalars replaced. */
  SetBody(body: unknown): void;
  /** Merges a task's answer into `Body`, and keeps it as `TaskResponse[key]`. */
  SetStandardResponse(response: StandardTaskResponse, key?: string | null): void;
  SetOutputResponse(data: unknown, key?: string | null): void;
}

export interface WorkflowInfo {
  readonly Key: string;
  readonly Domain: string;
  readonly Flow: string;
  readonly Version: string;
  readonly FlowVersion: string;
  readonly Type: string | null;
  readonly States: Dynamic[];
  readonly StateKeys: string[];
  readonly Scripts: Dynamic;
  readonly [member: string]: Dynamic;
}

export interface TransitionInfo {
  readonly Key: string;
  readonly From: string | null;
  readonly Target: string;
  readonly TriggerType: string | number;
  readonly TriggerKind: string | number | null;
  readonly [member: string]: Dynamic;
}

/** A task's answer; in `Body` and `TaskResponse` the names are camelCase. */
export interface StandardTaskResponse {
  Data?: Dynamic;
  StatusCode?: number | null;
  IsSuccess?: boolean;
  ErrorMessage?: string | null;
  Headers?: Record<string, string> | null;
  Metadata?: Record<string, Dynamic> | null;
  ExecutionDurationMs?: number | null;
  TaskType?: string | null;
  Body?: string | null;
  [member: string]: Dynamic;
}
