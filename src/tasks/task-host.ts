/** Running tasks, of a hook or of a function: the port the runtime uses. */
import type { Component } from "../engine/component.ts";
import type { TaskBinding } from "../engine/definition/model.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import type { Author, Instance } from "../engine/instance.ts";
import type { ResponseValue } from "../scripting/contract.ts";
import type { ScriptRequest } from "../scripting/script-host.ts";
import type { TaskOutcome } from "../engine/transition/happenings.ts";

export interface TaskInvocation {
  binding: Pick<TaskBinding, "mapping">;
  definition: Component;
  context: TaskContext;
  /**
   * The same in every attempt, also after a crash: record, hook, group, position. Sent along as the
   * `Idempotency-Key` of whatever leaves the process.
   */
  executionKey: string;
  signal: AbortSignal;
  /**
   * Does a part of the task that reaches outside on its own, under a key within the task's; once it
   * has succeeded it is not done again, whatever becomes of the whole. Absent where nothing is kept.
   */
  once?: ((part: TaskPart, work: () => Promise<TaskOutcome>) => Promise<TaskOutcome>) | undefined;
  /** What a script of this task is run with; `seen` is what has changed since the group began. */
  request: (script: ScriptCode, seen?: Partial<SeenByScript>) => ScriptRequest;
  /** Told what the output handler answered as a whole: functions answer with its status and headers. */
  onReply?: ((value: ResponseValue) => void) | undefined;
}

export interface TaskPart {
  /** Follows the task's own execution key: `#3`. */
  suffix: string;
  taskKey: string;
}

/** For whom a task runs, and what has happened before it. */
export interface TaskContext extends SeenByScript {
  domain: string;
  /** None in a function of a domain. */
  instance: Instance | undefined;
  transitionKey: string | undefined;
  author: Author;
  /** Of the request that caused all this; masked where they are credentials. */
  headers: Readonly<Record<string, string>>;
  /** Of the caller. */
  roles: readonly string[];
  traceId: string | undefined;
  /** How many tasks that start or move instances led here, one inside the other. */
  triggerDepth: number;
}

/** The parts of a script's context that a task's own steps change. */
export interface SeenByScript {
  body: JsonValue | undefined;
  taskResponses: Readonly<Record<string, JsonValue>>;
  metaData: Readonly<Record<string, JsonValue>>;
}

export interface TaskHost {
  /**
   * Whether the task reaches outside the process. Such a task is run only when everything decided
   * before it is on disk, and its result is journaled before anything follows from it.
   */
  isEffectful(definition: Component, mapping: ScriptCode | undefined): boolean;
  /**
   * Throws `StepFailed` when the task could not be carried out. One that was, with a result that is
   * a failure (an error status), answers with `failure` in the outcome.
   */
  run(invocation: TaskInvocation): Promise<TaskOutcome>;
}
