/** What a run waits for, what may happen to it, and where that leaves it. */
import type { LongPoll, SubFlow, TaskBinding, Transition } from "../definition/model.ts";
import type { ScriptCode } from "../definition/script-code.ts";
import type { JsonValue } from "../exact-json.ts";
import type { OpenChild } from "../instance.ts";
import type { SchemaError } from "../json-schema.ts";
import type { TaskFailure } from "../task-failure.ts";
import type { BoundaryDecision } from "./boundary.ts";
import type { ChildPlan, Hook, Run, TimerToArm } from "./run.ts";

/** What a run waits for. */
export type Todo =
  | { kind: "map"; transition: Transition }
  | { kind: "tasks"; hook: Hook; group: number; bindings: readonly TaskBinding[] }
  /** The state opens a subflow: plan the child. */
  | { kind: "subflow"; subFlow: SubFlow }
  /** Whether the poll of this caller ends here. */
  | { kind: "longPoll"; longPoll: LongPoll }
  /** How the subflow has ended. */
  | { kind: "childOutcome"; child: OpenChild; mapping: ScriptCode | undefined }
  /**
   * Evaluated one after the other; the first that holds wins. None is taken beside another run that
   * moves the instance, where there may be one.
   */
  | { kind: "rules"; candidates: readonly Transition[]; mayBeMoving: boolean }
  | { kind: "timers"; transitions: readonly Transition[] };

export interface TaskOutcome {
  /** Variable name of the task: `get-user` is `getUser`. */
  name: string;
  /** What later scripts of the hop see. */
  response: JsonValue | undefined;
  /** What the output handler wants merged into the data. */
  data: JsonValue | undefined;
  /** The stage a script set; null clears it. */
  stage?: string | null | undefined;
  metaData?: Readonly<Record<string, JsonValue>> | undefined;
  /** `Body`, when a script changed it itself. */
  body?: JsonValue | undefined;
  /** Further responses that a script filed, by name. */
  responses?: Readonly<Record<string, JsonValue>> | undefined;
  /** The task was carried out and its result is a failure; its output is merged all the same. */
  failure?: TaskFailure | undefined;
}

export type Happened =
  | { kind: "begun" }
  | { kind: "mapped"; value: JsonValue | undefined }
  | { kind: "tasksDone"; outcomes: readonly TaskOutcome[] }
  | { kind: "chosen"; transition: Transition | undefined }
  /** Another run moves the instance: this one has nothing to choose. */
  | { kind: "moving" }
  | { kind: "scheduled"; timers: readonly TimerToArm[] }
  | { kind: "childPlanned"; child: ChildPlan }
  /** `fallbackSeconds` when somebody else than the state itself says how long it waits. */
  | { kind: "pollEnds"; ends: boolean; fallbackSeconds?: number }
  | ChildEnded
  | Failed;

/** The subflow has ended; `data` is what its output mapping wants merged. */
export type ChildEnded =
  | { kind: "childEnded"; outcome: "completed"; data: JsonValue | undefined }
  | { kind: "childEnded"; outcome: "canceled" }
  | { kind: "childEnded"; outcome: "faulted"; failure: TaskFailure }
  /** Nothing has ended after all. */
  | { kind: "childEnded"; outcome: "running" };

export interface Failed {
  kind: "failed";
  failure: TaskFailure;
  /** The task that failed, whose own boundary is asked first. */
  binding?: TaskBinding | undefined;
  /** How often it was tried again before. */
  retries?: number | undefined;
  /** What the tasks of the group that ended have to say, in the order they are declared. */
  outcomes?: readonly TaskOutcome[] | undefined;
  /** Without any boundary the run goes on after the hook (`TaskExecution.UnhandledFailure`). */
  isTolerated?: boolean | undefined;
}

export type Advance = { handled?: Handled } & (
  | { kind: "waiting"; run: Run; todo: Todo }
  | { kind: "settled"; run: Run }
  /** The payload does not fit the master schema: nothing of this run may be written. */
  | { kind: "refused"; errors: readonly SchemaError[] }
);

/** A failure that changed the course of the run without ending it; for the log. */
export interface Handled {
  failure: TaskFailure;
  decision: BoundaryDecision | undefined;
}
