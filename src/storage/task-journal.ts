import type { TaskOutcome } from "../engine/transition/advance.ts";

export interface JournalKey {
  instanceId: string;
  executionKey: string;
}

export interface JournalEntry extends JournalKey {
  taskKey: string;
  outcome: TaskOutcome;
  startedAt: Date;
  finishedAt: Date;
  /** The entry is kept only while this node owns this job. */
  jobId: string;
  owner: string;
}

/** Results of tasks with effects outside, so that none is repeated after a crash. */
export interface TaskJournal {
  find(key: JournalKey): Promise<TaskOutcome | undefined>;
  /** False when the job is no longer the owner's; nothing is kept then. */
  add(entry: JournalEntry): Promise<boolean>;
}
