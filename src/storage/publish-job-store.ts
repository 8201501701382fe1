/**
 * Publish jobs of the deployment service. They outlive the process, so that a caller who polls after
 * a restart is told what became of a job.
 *
 * A job belongs to the process that accepted it: only that one has the credentials. It shows that it
 * lives by beating; a job without a living owner is ended by anybody who looks.
 */

/** What the store keeps of a job; how statuses follow each other is the deployment service's rule. */
export interface StoredPublishJob {
  jobId: string;
  packageName: string;
  status: string;
  progress: { current: number; total: number; currentFile: string; phase: string };
  /** JSON text. */
  results: string | null;
  /** JSON text. */
  error: string | null;
  cancelRequested: boolean;
  cancelledAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface PublishJobStore {
  /** Answers the job's number: jobs run in the order of theirs. */
  add(job: StoredPublishJob, owner: string): Promise<number>;
  find(jobId: string): Promise<StoredPublishJob | undefined>;
  /**
   * `accepted` becomes `processing`, if no other job is, and none that came earlier still waits, of a
   * living owner, here or on another node. May be repeated by an owner who did not hear the answer.
   */
  start(jobId: string, owner: string, at: Date): Promise<boolean>;
  /**
   * Keeps how far the owner's unfinished job is. `lost`: it is not the owner's any more, or has ended.
   */
  saveProgress(job: StoredPublishJob, owner: string): Promise<"kept" | "cancelRequested" | "lost">;
  /**
   * Ends the owner's job. False: it has ended already; or it would be completed, and somebody has
   * asked to cancel it meanwhile.
   */
  finish(job: StoredPublishJob, owner: string): Promise<boolean>;
  /** Marks an unfinished job as to be cancelled. Answers the job as it was before. */
  requestCancel(jobId: string, at: Date): Promise<StoredPublishJob | undefined>;
  /**
   * Says that the owner lives and has these jobs; answers those that somebody wants cancelled. A job
   * that its owner does not name, because it never heard of having it, is left to be ended.
   */
  beat(owner: string, jobIds: readonly string[]): Promise<string[]>;
  /**
   * Ends the jobs whose owner does not live any more, with this error in the phase they were in.
   * Answers their ids.
   */
  endOrphans(error: { code: string; message: string }, at: Date): Promise<string[]>;
  /** Forgets jobs that ended before; answers how many. */
  forget(endedBefore: Date): Promise<number>;
}
