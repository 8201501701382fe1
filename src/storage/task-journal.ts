import type { TriggerType } from "../engine/definition/enumerations.ts";
import type { TaskFailure } from "../engine/task-failure.ts";
import type { TaskOutcome } from "../engine/transition/happenings.ts";

export interface JournalKey {
  instanceId: string;
  executionKey: string;
  /** The journal speaks only to whoever holds this claim of the run's job. */
  jobId: string;
  attempts: number;
  owner: string;
  /** Which retry of the instance this is; what failed in an earlier one is tried afresh. */
  retry: number;
}

export interface JournalEntry extends JournalKey {
  taskKey: string;
  /** What came of it; a failure when it is one. */
  result: { outcome: TaskOutcome } | { failure: TaskFailure };
  /** How often the task was tried in this retry of the instance, this time included. */
  tries: number;
  startedAt: Date;
  finishedAt: Date;
}

export type Journaled =
  | { kind: "new" }
  /** Done by an earlier attempt. */
  | { kind: "done"; outcome: TaskOutcome }
  /** Tried so many times, the last time in vain. */
  | { kind: "failed"; tries: number; sinceMs: number; result: JournalEntry["result"] }
  /** The job is somebody else's by now. */
  | { kind: "lost" };

/** Results of tasks with effects outside, so that none is repeated after a crash. */
export interface TaskJournal {
  find(key: JournalKey): Promise<Journaled>;
  /** False when the job is no longer the owner's; nothing is kept then. */
  add(entry: JournalEntry): Promise<boolean>;
  /** What an instance's tasks did outside, oldest first. */
  list(instanceId: string): Promise<ListedTask[]>;
}

/** A task as the journal has it, with the record of the transition it ran in. */
export interface ListedTask {
  executionKey: string;
  taskKey: string;
  succeeded: boolean;
  /** How often it was tried. */
  tries: number;
  startedAt: Date;
  finishedAt: Date;
  failure: TaskFailure | undefined;
  record:
    | {
        transitionKey: string;
        fromState: string;
        toState: string | undefined;
        trigger: TriggerType;
      }
    | undefined;
}
