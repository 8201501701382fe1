/** Running the tasks of a hook: the port the runtime uses. */
import type { Component } from "../engine/component.ts";
import type { TaskBinding } from "../engine/definition/model.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import type { ScriptRequest } from "../scripting/script-host.ts";
import type { TaskOutcome } from "../engine/transition/advance.ts";
import type { Run } from "../engine/transition/run.ts";

export interface TaskInvocation {
  binding: TaskBinding;
  definition: Component;
  run: Run;
  /** The same in every attempt, also after a crash: record, hook, group, position. */
  executionKey: string;
  signal: AbortSignal;
  /** What a script of this task is run with; `seen` is what has changed since the group began. */
  request: (script: ScriptCode, seen?: SeenByScript) => ScriptRequest;
}

/** The parts of a script's context that a task's own steps change. */
export type SeenByScript = Partial<Pick<Run, "body" | "taskResponses" | "metaData">>;

export interface TaskHost {
  /**
   * Whether the task reaches outside the process. Such a task is run only when everything decided
   * before it is on disk, and its result is journaled before anything follows from it.
   */
  isEffectful(definition: Component): boolean;
  /** Throws `StepFailed` when the task fails. */
  run(invocation: TaskInvocation): Promise<TaskOutcome>;
}
