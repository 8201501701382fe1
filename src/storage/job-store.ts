import type { JobType } from "../engine/job-name.ts";

/** A job this node has claimed. */
export interface Job {
  id: string;
  type: JobType;
  instanceId: string;
  domain: string;
  flow: string;
  sourceState: string | undefined;
  transitionKey: string | undefined;
  payload: string | undefined;
  /** How often it was claimed, this time included; with the owner it names one claim. */
  attempts: number;
}

export interface Claim {
  jobs: Job[];
  /** Until the next job is due, if one is known. */
  nextDueMs: number | undefined;
}

/** What a claim is known by: the same node may have claimed the same job before, and lost it. */
export interface ClaimedJob {
  id: string;
  attempts: number;
}

/**
 * The work to do, shared by all nodes. A claimed job is its owner's until the lease ends or the
 * owner stops renewing its life; taking over a job that had an owner also raises the instance's rev,
 * so that the former owner can write no more. All times are the database's.
 */
export interface JobStore {
  /** Up to `most` jobs that are due, for this node alone. */
  claim(owner: string, most: number): Promise<Claim>;
  /** The job as it stands now; undefined when it is done, or no longer this claim's. */
  reload(job: ClaimedJob, owner: string): Promise<Job | undefined>;
  /** Puts a job back: due again after a while. */
  release(job: ClaimedJob, owner: string, delayMs: number): Promise<void>;
  /**
   * Everything of this node that is not among `held` may be claimed, by anybody. Returns how many.
   * It keeps its owner's name until then, so that the claim knows that it takes over. What was
   * claimed within the last `spareSeconds` is left: it may be newer than the list.
   */
  releaseAll(owner: string, held: readonly string[], spareSeconds?: number): Promise<number>;
  remove(job: ClaimedJob, owner: string): Promise<void>;
  /** Whether the job is in the queue, whoever's it is. */
  isThere(jobId: string): Promise<boolean>;
  /** The pause that the instance is in, for this node alone; undefined when it is in none. */
  takePause(instanceId: string, owner: string): Promise<Job | undefined>;
  /** Whether a run of the instance is under way or queued. */
  hasRun(instanceId: string): Promise<boolean>;
  /** Whether the instance is still to be started, as somebody's child. */
  isStarting(instanceId: string): Promise<boolean>;

  /** This node lives for another while. False when it did not count as living until now. */
  beat(owner: string, aliveSeconds: number): Promise<boolean>;
  /** Frees the jobs of nodes that live no more; tells which those are, and how many jobs. */
  sweep(): Promise<{ nodes: string[]; freed: number }>;
  /** This node is gone for good. */
  leave(owner: string): Promise<void>;
}
