/** One job's way through its phases. What ends it early is thrown: a failure, or the signal's reason. */
import { setTimeout as delay } from "node:timers/promises";
import { OutgoingFailed, type HttpClient } from "../outgoing/http-client.ts";
import { DeployFailed } from "./deploy-failure.ts";
import { packageContents, type PackageContents } from "./package-contents.ts";
import { fetchPackage, type DownloadLimits } from "./package-registry.ts";
import { noOutcomes, type FailedFile, type FileOutcomes, type JobProgress } from "./publish-job.ts";
import { publishFiles, type FileOutcome } from "./publish-files.ts";
import type { PublishRequest } from "./publish-request.ts";
import { readArchive, type ArchiveLimits } from "./read-archive.ts";
import type { RuntimeClient } from "./runtime-client.ts";

export interface DeployLimits extends DownloadLimits {
  archive: ArchiveLimits;
  /** How long the runtime may take to become healthy. */
  runtimeWaitMs: number;
  /** Components on their way to the runtime at the same time. */
  concurrency: number;
}

export interface RunPorts {
  http: HttpClient;
  runtime: RuntimeClient;
  limits: DeployLimits;
}

export interface JobRun {
  request: PublishRequest;
  /** The job is to end at its next checkpoint. */
  signal: AbortSignal;
  /** The process is to end: nothing is waited for. */
  halt: AbortSignal;
  /** Told at every step, before the step is waited for; with what became of the files so far. */
  onProgress(progress: Partial<JobProgress>, outcomes: () => FileOutcomes): void;
  /** A last step that failed and changes nothing about the result. */
  onTrouble(event: string, fields: object): void;
}

export async function runPublishJob(ports: RunPorts, run: JobRun): Promise<FileOutcomes> {
  const { request, signal } = run;
  const done = new Map<string, FileOutcome>();
  let contents: PackageContents | undefined;
  const outcomes = () => (contents === undefined ? noOutcomes : outcomesOf(contents, done));
  const step = (progress: Partial<JobProgress>) => run.onProgress(progress, outcomes);

  step({ phase: "waiting-for-vnext" });
  await waitForRuntime(ports, signal);

  step({ phase: "downloading" });
  contents = await downloadPackage(ports, request, signal);

  await upload(ports, run, contents, done, step);

  signal.throwIfAborted();
  if (request.reInitialize) {
    step({ phase: "re-initializing", currentFile: "" });
    await reinitialize(ports.runtime, run);
  }
  return outcomes();
}

export async function downloadPackage(
  { http, limits }: RunPorts,
  request: PublishRequest,
  signal: AbortSignal,
): Promise<PackageContents & { version: string }> {
  const { spec, registry, kind } = request;
  const { archive, version } = await fetchPackage(http, spec, registry, limits, signal);
  const files = await readArchive(archive, limits.archive, signal);
  signal.throwIfAborted();
  return { ...packageContents(files, kind), version };
}

const betweenAsksMs = 1000;

async function waitForRuntime({ runtime, limits }: RunPorts, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + limits.runtimeWaitMs;
  for (;;) {
    const said = await runtime.isHealthy(signal).catch((error: unknown) => {
      if (error instanceof OutgoingFailed) return error;
      throw error;
    });
    signal.throwIfAborted();
    if (said === true) return;
    if (performance.now() >= deadline) {
      const why = said === false ? "It answers, but is not healthy." : said.message;
      throw new DeployFailed(
        "RuntimeUnreachable",
        `The runtime was not healthy within ${limits.runtimeWaitMs / 1000} s. ${why} Start it, or correct MILLRACE_RUNTIME_URL; then publish again.`,
      );
    }
    await delay(betweenAsksMs, undefined, { signal });
  }
}

async function upload(
  { runtime, limits }: RunPorts,
  { request, signal, halt }: JobRun,
  { config, groups }: PackageContents,
  done: Map<string, FileOutcome>,
  step: (progress: Partial<JobProgress>) => void,
): Promise<void> {
  step({ phase: "uploading", current: 0, total: groups.flat().length });
  // Several are on their way at once; the one that was begun last is shown.
  const underWay = new Set<string>();
  await publishFiles({
    runtime,
    preparation: { from: config, domain: request.domain },
    groups,
    concurrency: limits.concurrency,
    signal,
    halt,
    onBegin(path) {
      underWay.add(path);
      step({ currentFile: path });
    },
    onDone(path, outcome) {
      underWay.delete(path);
      done.set(path, outcome);
      step({ current: done.size, currentFile: [...underWay].at(-1) ?? path });
    },
  });
}

/** In the package's order, whichever file was done with first. */
function outcomesOf(
  { groups, missing }: PackageContents,
  done: ReadonlyMap<string, FileOutcome>,
): FileOutcomes {
  const successful: string[] = [];
  const failed: FailedFile[] = [];
  const skipped = missing.map((path) => ({ path, reason: "The package has no such folder." }));
  let unchanged = 0;
  for (const { path } of groups.flat()) {
    const outcome = done.get(path);
    if (outcome?.kind === "published") successful.push(path);
    else if (outcome?.kind === "failed") {
      failed.push(...outcome.reasons.map((reason) => ({ path, reason })));
    } else if (outcome?.kind === "unchanged") {
      unchanged += 1;
      skipped.push({ path, reason: "Already published, and identical." });
    }
  }
  return { successful, failed, skipped, unchanged };
}

/** The runtime knows what was published without it; a failure is no reason to call the job failed. */
async function reinitialize(runtime: RuntimeClient, { signal, onTrouble }: JobRun): Promise<void> {
  try {
    const { status } = await runtime.reinitialize(signal);
    if (status !== 200 && status !== 202 && status !== 204) {
      onTrouble("ReInitializeFailed", { status });
    }
  } catch (err) {
    signal.throwIfAborted();
    onTrouble("ReInitializeFailed", { err });
  }
}
