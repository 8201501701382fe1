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
  attempts: number;
}

export interface Claim {
  jobs: Job[];
  /** Until the next job is due, if one is known. */
  nextDueMs: number | undefined;
}

/**
 * The work to do, shared by all nodes. A claimed job is its owner's until the lease ends or the
 * owner stops renewing its life; taking over somebody else's job also raises the instance's rev, so
 * that the former owner can write no more.
 */
export interface JobStore {
  /** Up to `most` jobs that are due, for this node alone. */
  claim(owner: string, most: number): Promise<Claim>;
  /** Puts a job back: due again after a while. */
  release(jobId: string, owner: string, delayMs: number): Promise<void>;
  /** Puts everything back that this node has not finished. */
  releaseAll(owner: string): Promise<void>;
  remove(jobId: string, owner: string): Promise<void>;
  isOwner(jobId: string, owner: string): Promise<boolean>;

  /** This node lives for another while. */
  beat(owner: string, aliveSeconds: number): Promise<void>;
  /** Frees the jobs of nodes that live no more; tells how many. */
  sweep(): Promise<number>;
  /** This node is gone for good. */
  leave(owner: string): Promise<void>;
}
