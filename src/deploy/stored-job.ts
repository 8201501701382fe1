/** A job as the database keeps it. */
import type { StoredPublishJob } from "../storage/publish-job-store.ts";
import type { JobError, JobPhase, JobResults, JobStatus, PublishJob } from "./publish-job.ts";

export const toStored = (job: PublishJob): StoredPublishJob => ({
  ...job,
  results: job.results === null ? null : JSON.stringify(job.results),
  error: job.error === null ? null : JSON.stringify(job.error),
});

export const fromStored = (stored: StoredPublishJob): PublishJob => ({
  ...stored,
  status: stored.status as JobStatus,
  progress: { ...stored.progress, phase: stored.progress.phase as JobPhase },
  results: stored.results === null ? null : (JSON.parse(stored.results) as JobResults),
  error: stored.error === null ? null : (JSON.parse(stored.error) as JobError),
});
