/**
 * A publish job.
 *
 * accepted    queued; nothing has been downloaded. Leaves when its turn has come.
 * processing  phases follow each other: waiting for the runtime, downloading, uploading, perhaps
 *             re-initializing. A cancel is seen while waiting and downloading, and between files.
 * completed   all files were tried; what failed is in the results, not in the status.
 * failed      a phase could not be done at all; `error` says which and why.
 * cancelled   somebody asked for it. What was uploaded stays; re-initialize is skipped.
 *
 * The last three are final. A final job is forgotten after a while.
 */
import type { DeployFailureCode } from "./deploy-failure.ts";

export type JobStatus = "accepted" | "processing" | "completed" | "failed" | "cancelled";

export type JobPhase =
  | "waiting-for-vnext"
  | "downloading"
  | "uploading"
  | "re-initializing"
  | "done"
  | "cancelled"
  | "failed";

export interface JobProgress {
  /** Files that are done with, one way or another. */
  current: number;
  total: number;
  currentFile: string;
  phase: JobPhase;
}

export interface FailedFile {
  path: string;
  reason: {
    /** Of the runtime's problem: `validation.App:900006`. */
    code: string;
    message: string;
    /** Which component of a file that holds several. */
    component?: string;
    errors?: { path: string; message: string }[];
  };
}

export interface SkippedFile {
  path: string;
  reason: string;
}

export interface JobResults {
  success: boolean;
  message: string;
  packageName: string;
  appDomain: string | null;
  successful: string[];
  failed: FailedFile[];
  skipped: SkippedFile[];
}

export interface JobError {
  code: DeployFailureCode;
  message: string;
  phase: JobPhase;
}

export interface PublishJob {
  jobId: string;
  packageName: string;
  status: JobStatus;
  progress: JobProgress;
  results: JobResults | null;
  error: JobError | null;
  cancelRequested: boolean;
  cancelledAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

export const isFinal = (status: JobStatus): boolean =>
  status === "completed" || status === "failed" || status === "cancelled";

export const newJob = (jobId: string, packageName: string, at: Date): PublishJob => ({
  jobId,
  packageName,
  status: "accepted",
  progress: { current: 0, total: 0, currentFile: "", phase: "waiting-for-vnext" },
  results: null,
  error: null,
  cancelRequested: false,
  cancelledAt: null,
  createdAt: at,
  updatedAt: at,
});

/** What happened to the files so far. */
export interface FileOutcomes {
  successful: readonly string[];
  failed: readonly FailedFile[];
  skipped: readonly SkippedFile[];
  /** Of the skipped, how many were there already, as they are. */
  unchanged: number;
}

export const noOutcomes: FileOutcomes = { successful: [], failed: [], skipped: [], unchanged: 0 };

export interface Deployment {
  packageName: string;
  appDomain: string | null;
}

export function completed(job: PublishJob, of: Deployment, outcomes: FileOutcomes): PublishJob {
  const success = outcomes.failed.length === 0;
  const results = resultsOf(of, outcomes, success, summary(outcomes));
  const progress = { ...job.progress, currentFile: "", phase: "done" } as const;
  return { ...job, status: "completed", progress, results };
}

export function cancelled(
  job: PublishJob,
  of: Deployment,
  outcomes: FileOutcomes,
  at: Date,
): PublishJob {
  const done = outcomes.successful.length + outcomes.failed.length + outcomes.unchanged;
  const message =
    done === 0
      ? "Cancelled before anything was published."
      : `Cancelled. Before that: ${summary(outcomes)} What is published stays.`;
  return {
    ...job,
    status: "cancelled",
    cancelRequested: true,
    cancelledAt: at,
    progress: { ...job.progress, phase: "cancelled" },
    results: resultsOf(of, outcomes, false, message),
  };
}

export function failed(
  job: PublishJob,
  of: Deployment,
  outcomes: FileOutcomes,
  error: Omit<JobError, "phase">,
): PublishJob {
  const { phase } = job.progress;
  return {
    ...job,
    status: "failed",
    progress: { ...job.progress, phase: "failed" },
    error: { ...error, phase },
    // Before the upload there is nothing to tell.
    results: job.progress.total === 0 ? null : resultsOf(of, outcomes, false, error.message),
  };
}

const resultsOf = (
  { packageName, appDomain }: Deployment,
  { successful, failed: failures, skipped }: FileOutcomes,
  success: boolean,
  message: string,
): JobResults => ({
  success,
  message,
  packageName,
  appDomain,
  successful: [...successful],
  failed: [...failures],
  skipped: [...skipped],
});

function summary({ successful, failed: failures, unchanged }: FileOutcomes): string {
  const counts = [
    [successful.length, "published"],
    [unchanged, "already there, unchanged"],
    // A file that holds several components may have failed for several reasons.
    [new Set(failures.map(({ path }) => path)).size, "failed"],
  ] as const;
  const said = counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return said.length === 0 ? "The package has no components." : `Files: ${said.join(", ")}.`;
}
