import type { TaskOutcome } from "../engine/transition/advance.ts";

export interface JournalKey {
  instanceId: string;
  executionKey: string;
  /** The journal speaks only to whoever holds this claim of the run's job. */
  jobId: string;
  attempts: number;
  owner: string;
}

export interface JournalEntry extends JournalKey {
  taskKey: string;
  outcome: TaskOutcome;
  startedAt: Date;
  finishedAt: Date;
}

export type Journaled =
  | { kind: "new" }
  /** Done by an earlier attempt. */
  | { kind: "done"; outcome: TaskOutcome }
  /** The job is somebody else's by now. */
  | { kind: "lost" };

/** Results of tasks with effects outside, so that none is repeated after a crash. */
export interface TaskJournal {
  find(key: JournalKey): Promise<Journaled>;
  /** False when the job is no longer the owner's; nothing is kept then. */
  add(entry: JournalEntry): Promise<boolean>;
}
