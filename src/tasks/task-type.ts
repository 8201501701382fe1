/**
 * The contract of a task type: one file per type, one row in `registry.ts`.
 *
 * A type with the usual mapping (`InputHandler`, `OutputHandler`) is a `MappedTaskType`: it only says
 * how to invoke; `run-mapped-task.ts` does what is common to all. A type that talks to its mapping in
 * another way (notification, fan-out) has a `run` of its own.
 */
import type { Component } from "../engine/component.ts";
import type { Reference } from "../engine/definition/reference.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import type { TaskOutcome } from "../engine/transition/happenings.ts";
import type { Notifications } from "../notifications/sender.ts";
import type { DaprSidecar } from "../outgoing/dapr-sidecar.ts";
import type { HttpClient } from "../outgoing/http-client.ts";
import type { ScriptHost } from "../scripting/script-host.ts";
import type { StateStores } from "../storage/state-store.ts";
import type { Flows } from "./flow-port.ts";
import type { TaskContext, TaskHost, TaskInvocation } from "./task-host.ts";

/** What the types work with. A new port is a new member here and in `millrace.ts`. */
export interface TaskPorts {
  readonly scripts: ScriptHost;
  readonly http: HttpClient;
  /** Undefined when none is configured. */
  readonly dapr: DaprSidecar | undefined;
  readonly notifications: Notifications;
  readonly stateStores: StateStores;
  readonly flows: Flows;
  /** `ExecutionApi.InvocationTimeoutSeconds`: the ceiling over each task's own timeout. */
  readonly invocationTimeoutMs: number;
  /** For tasks made of other tasks. */
  readonly loadTask: (reference: Reference) => Promise<Component>;
  readonly runTask: (invocation: TaskInvocation) => Promise<TaskOutcome>;
  readonly isEffectful: TaskHost["isEffectful"];
}

export interface TaskType {
  /** The word for it in messages and in error codes: `Http` in `Task:Http:503`. */
  readonly name: string;
  isEffectful(definition: Component, mapping: ScriptCode | undefined): boolean;
  run(ports: TaskPorts, invocation: TaskInvocation): Promise<TaskOutcome>;
}

export type TaskConfig = Readonly<Record<string, unknown>>;

/** One call of a type's own work, between the two handlers. */
export interface TaskCall {
  readonly key: string;
  /** As the input handler left it. */
  readonly config: TaskConfig;
  readonly context: TaskContext;
  readonly executionKey: string;
  /** Aborted when the run ends early or a sibling has failed; not by time. */
  readonly signal: AbortSignal;
  readonly invocation: TaskInvocation;
}

/** What came of it; becomes the `StandardTaskResponse` that scripts see. */
export interface TaskAnswer {
  readonly data: JsonValue | undefined;
  readonly statusCode?: number | undefined;
  readonly isSuccess: boolean;
  readonly errorMessage?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly metadata?: Readonly<Record<string, JsonValue>> | undefined;
  /** The raw text. */
  readonly body?: string | undefined;
  /** The exception's name, as error boundaries match it: `TaskCanceledException`. */
  readonly errorType?: string | undefined;
  /** Whether trying again may help; by the status unless given. */
  readonly retryable?: boolean | undefined;
}

export interface MappedTaskType {
  /** The text code of the type: `6`. */
  readonly code: string;
  readonly name: string;
  /** As scripts read it in `taskType`. */
  readonly stamp: string;
  readonly isEffectful: TaskType["isEffectful"];
  /**
   * Throws `StepFailed` when nothing was or could be asked of the outside: then the output handler
   * does not run. An error status, or no answer at all, is an answer with `isSuccess: false`.
   */
  invoke(ports: TaskPorts, call: TaskCall): Promise<TaskAnswer>;
}
