/**
 * The jobs of the deployment service: one after another, kept in the database, ended whatever happens.
 *
 * The process that accepts a job also runs it, because the credentials are in its memory alone. While
 * it does, its own view of the job is the true one; the database follows a moment later, for other
 * nodes and for after a restart.
 */
import { setTimeout as delay } from "node:timers/promises";
import { problems } from "../engine/problems.ts";
import type { Log } from "../log.ts";
import { createTroubleLog } from "../log-trouble.ts";
import type { PublishJobStore } from "../storage/publish-job-store.ts";
import type { DeployClock } from "./deploy-clock.ts";
import { DeployFailed, type DeployFailureCode } from "./deploy-failure.ts";
import { createGate } from "./gate.ts";
import { planPackage, type Plan } from "./plan-package.ts";
import {
  cancelled,
  completed,
  failed,
  isFinal,
  newJob,
  noOutcomes,
  type Deployment,
  type FileOutcomes,
  type PublishJob,
} from "./publish-job.ts";
import type { PublishRequest } from "./publish-request.ts";
import { runPublishJob, type RunPorts } from "./run-publish-job.ts";
import { fromStored, toStored } from "./stored-job.ts";
import { withoutSecrets } from "./without-secrets.ts";

export interface DeployPorts extends RunPorts {
  jobs: PublishJobStore;
  clock: DeployClock;
  newId: () => string;
  log: Log;
}

export interface DeploySettings {
  retentionMs: number;
  sweepMs: number;
  /** Jobs that may wait or run on this node. */
  queueLimit: number;
}

export interface DeployService {
  /** Resolves when the job is kept: the caller may be told its id. */
  submit(request: PublishRequest): Promise<PublishJob>;
  find(jobId: string): Promise<PublishJob | undefined>;
  /** Undefined: no such job. */
  cancel(jobId: string): Promise<{ job: PublishJob; outcome: CancelOutcome } | undefined>;
  /** The job now, and whenever it has changed, until it has ended or the signal is aborted. */
  follow(jobId: string, signal: AbortSignal): AsyncGenerator<PublishJob, void>;
  plan(request: PublishRequest, signal: AbortSignal): Promise<Plan>;
  /** Jobs that have not ended end as failed. */
  close(): Promise<void>;
}

export type CancelOutcome = "requested" | "requestedBefore" | "tooLate";

/** Why a job stops before its end. */
type StopReason = "cancel" | "shutdown" | "lost";

interface OpenJob {
  job: PublishJob;
  /** Its place among all jobs; 0 until it is kept. */
  number: number;
  request: PublishRequest;
  outcomes: () => FileOutcomes;
  stop: AbortController;
  saving: Promise<void> | undefined;
  ending: Promise<void> | undefined;
}

const beatMs = 2000;
const orphanCheckMs = 5000;
const askAgainMs = 500;
const saveDelayMs = 100;
const plansAtOnce = 2;

const interrupted = {
  code: "Interrupted",
  message:
    "The service stopped while the job was under way. Publish again: what is there already is recognised.",
} as const;

export function openDeployService(ports: DeployPorts, settings: DeploySettings): DeployService {
  const { jobs, clock, log } = ports;
  const trouble = createTroubleLog(log);
  const owner = ports.newId();
  const open = new Map<string, OpenJob>();
  const waiting: OpenJob[] = [];
  const listeners = new Map<string, Set<() => void>>();
  let working: Promise<void> | undefined;
  const closing = new AbortController();
  const plans = createGate(plansAtOnce);

  const stops = [
    clock.every(beatMs, inBackground(beat)),
    clock.every(orphanCheckMs, inBackground(endOrphans)),
    clock.every(settings.sweepMs, inBackground(sweep)),
  ];
  inBackground(endOrphans)();

  const asAsked = ({ identity = {} }: PublishRequest): DeployPorts => ({
    ...ports,
    runtime: ports.runtime.as(identity),
  });

  /** Nobody waits for it; the next time will do. */
  function inBackground(work: () => Promise<void>): () => void {
    return () => void work().catch((err: unknown) => trouble("PublishJobUpkeepFailed", err));
  }

  async function beat(): Promise<void> {
    if (open.size === 0) return;
    for (const id of await jobs.beat(owner, [...open.keys()])) stopJob(open.get(id), "cancel");
  }

  async function endOrphans(): Promise<void> {
    const ended = await jobs.endOrphans(interrupted, clock.now());
    for (const jobId of ended) log.warn({ jobId }, "PublishJobInterrupted");
  }

  async function sweep(): Promise<void> {
    const forgotten = await jobs.forget(new Date(clock.now().getTime() - settings.retentionMs));
    if (forgotten > 0) log.info({ forgotten }, "PublishJobsForgotten");
  }

  function change(entry: OpenJob, changed: Partial<PublishJob>): void {
    entry.job = { ...entry.job, ...changed, updatedAt: clock.now() };
    for (const listener of listeners.get(entry.job.jobId) ?? []) listener();
  }

  function stopJob(entry: OpenJob | undefined, reason: StopReason): void {
    if (entry === undefined || entry.stop.signal.aborted) return;
    if (reason === "cancel") change(entry, { cancelRequested: true });
    entry.stop.abort(reason);
    const place = waiting.indexOf(entry);
    if (place === -1) return;
    // It has not begun: there is nothing to wait for.
    waiting.splice(place, 1);
    inBackground(() => end(entry, stopped(entry)))();
  }

  async function runAll(): Promise<void> {
    for (let entry = waiting[0]; entry !== undefined; entry = waiting[0]) {
      if (await isItsTurn(entry)) {
        waiting.splice(waiting.indexOf(entry), 1);
        await end(entry, await run(entry));
      } else if (waiting[0] === entry) {
        // Another node's job came first.
        await delay(askAgainMs, undefined, { signal: entry.stop.signal }).catch(() => undefined);
      }
    }
    // At once, not a turn later: whoever adds a job now must start this again.
    working = undefined;
  }

  async function isItsTurn(entry: OpenJob): Promise<boolean> {
    try {
      const started = await jobs.start(entry.job.jobId, owner, clock.now());
      // A cancel that came meanwhile has taken it out of the queue, and ends it.
      if (!waiting.includes(entry)) return false;
      if (started) change(entry, { status: "processing" });
      else await dropWhenEnded(entry);
      return started;
    } catch (err) {
      log.warn({ err, jobId: entry.job.jobId }, "PublishJobWaitsForDatabase");
      return false;
    }
  }

  /** Another node took us for dead while the database was away. */
  async function dropWhenEnded(entry: OpenJob): Promise<void> {
    const stored = await jobs.find(entry.job.jobId);
    const place = waiting.indexOf(entry);
    if (place === -1 || (stored !== undefined && !isFinal(fromStored(stored).status))) return;
    waiting.splice(place, 1);
    open.delete(entry.job.jobId);
  }

  async function run(entry: OpenJob): Promise<PublishJob> {
    const { request, stop } = entry;
    try {
      const outcomes = await runPublishJob(asAsked(entry.request), {
        request,
        signal: stop.signal,
        halt: closing.signal,
        onProgress(progress, soFar) {
          entry.outcomes = soFar;
          change(entry, { progress: { ...entry.job.progress, ...progress } });
          save(entry);
        },
        onTrouble: (event, fields) => log.warn({ ...fields, jobId: entry.job.jobId }, event),
      });
      return completed(entry.job, deploymentOf(entry), outcomes);
    } catch (error) {
      if (stop.signal.aborted) return stopped(entry);
      const { code, message } = tellable(error, entry);
      return failed(entry.job, deploymentOf(entry), entry.outcomes(), { code, message });
    }
  }

  function stopped(entry: OpenJob): PublishJob {
    const { job, stop, outcomes } = entry;
    const of = deploymentOf(entry);
    return stop.signal.reason === "cancel"
      ? cancelled(job, of, outcomes(), clock.now())
      : failed(job, of, outcomes(), interrupted);
  }

  /** The message goes to whoever polls: without secrets, and of faults of ours without details. */
  function tellable(
    error: unknown,
    { request, job }: OpenJob,
  ): { code: DeployFailureCode; message: string } {
    if (!(error instanceof DeployFailed)) {
      log.error({ err: error, jobId: job.jobId }, "PublishJobBroke");
      const message = "The deployment service failed. Its log has the cause under the job's id.";
      return { code: "InternalError", message };
    }
    return { code: error.code, message: withoutSecrets(error.message, request) };
  }

  /** At most one write at a time and per while: polls on this node read memory anyway. */
  function save(entry: OpenJob): void {
    entry.saving ??= (async () => {
      try {
        await delay(saveDelayMs);
        if (entry.ending !== undefined) return;
        const kept = await jobs.saveProgress(toStored(entry.job), owner);
        if (kept === "cancelRequested") stopJob(entry, "cancel");
        // Another node took us for dead and has ended the job: two results would be worse than one.
        if (kept === "lost" && open.has(entry.job.jobId)) stopJob(entry, "lost");
      } catch (err) {
        log.warn({ err, jobId: entry.job.jobId }, "PublishJobProgressNotSaved");
      } finally {
        entry.saving = undefined;
      }
    })();
  }

  const end = (entry: OpenJob, wanted: PublishJob): Promise<void> =>
    (entry.ending ??= keepEnd(entry, wanted));

  /** Keeps the end first and shows it then, so that nobody sees an end that a crash could undo. */
  async function keepEnd(entry: OpenJob, wanted: PublishJob): Promise<void> {
    const { jobId, packageName } = entry.job;
    let job = { ...wanted, updatedAt: clock.now() };
    while (entry.stop.signal.reason !== "lost") {
      try {
        if (await jobs.finish(toStored(job), owner)) break;
        if (job.status !== "completed") break;
        job = cancelled(job, deploymentOf(entry), entry.outcomes(), clock.now());
      } catch (err) {
        log.warn({ err, jobId }, "PublishJobEndNotSaved");
        if (closing.signal.aborted) break;
        await delay(askAgainMs);
      }
    }
    change(entry, job);
    open.delete(jobId);
    const { status, error, results } = job;
    const counts = {
      successful: results?.successful.length,
      failed: results?.failed.length,
      skipped: results?.skipped.length,
    };
    log.info({ jobId, packageName, status, code: error?.code, ...counts }, "PublishJobEnded");
  }

  const find = async (jobId: string) => {
    const own = open.get(jobId.toLowerCase());
    if (own !== undefined) return own.job;
    const stored = await jobs.find(jobId);
    return stored === undefined ? undefined : fromStored(stored);
  };

  return {
    async submit(request) {
      if (closing.signal.aborted) throw problems.shuttingDown({});
      if (open.size >= settings.queueLimit) {
        throw problems.publishQueueFull({ limit: settings.queueLimit });
      }
      const job = newJob(ports.newId(), request.spec.name, clock.now());
      const stop = new AbortController();
      const entry: OpenJob = {
        job,
        number: 0,
        request,
        outcomes: () => noOutcomes,
        stop,
        saving: undefined,
        ending: undefined,
      };
      open.set(job.jobId, entry);
      try {
        entry.number = await jobs.add(toStored(job), owner);
      } catch (error) {
        open.delete(job.jobId);
        throw error;
      }
      log.info({ jobId: job.jobId, packageName: job.packageName }, "PublishJobAccepted");
      // Of jobs that come at the same time the later may be heard of first.
      waiting.push(entry);
      waiting.sort((a, b) => a.number - b.number);
      working ??= runAll();
      return job;
    },
    find,
    async cancel(jobId) {
      const before = await jobs.requestCancel(jobId, clock.now());
      if (before === undefined) return undefined;
      const known = fromStored(before);
      if (isFinal(known.status)) return { job: known, outcome: "tooLate" };
      stopJob(open.get(known.jobId), "cancel");
      const outcome = known.cancelRequested ? "requestedBefore" : "requested";
      return { job: (await find(jobId)) ?? known, outcome };
    },
    async *follow(jobId, signal) {
      let seen = "";
      while (!signal.aborted) {
        const job = await find(jobId);
        if (job === undefined) return;
        const now = JSON.stringify(job);
        if (now !== seen) yield job;
        seen = now;
        if (isFinal(job.status)) return;
        await nextChange(job.jobId, signal);
      }
    },
    plan: (request, signal) =>
      plans(async () => {
        try {
          return await planPackage(asAsked(request), request, signal);
        } catch (error) {
          if (!(error instanceof DeployFailed)) throw error;
          const reason = withoutSecrets(error.message, request);
          throw problems.packageNotUsable({ reason }, { target: error.code });
        }
      }),
    async close() {
      for (const stop of stops) stop();
      for (const entry of open.values()) stopJob(entry, "shutdown");
      closing.abort();
      await working;
      await Promise.all([...open.values()].map((entry) => end(entry, stopped(entry))));
    },
  };

  /** Jobs of other nodes are looked at again after a while. */
  async function nextChange(jobId: string, signal: AbortSignal): Promise<void> {
    const told = new AbortController();
    const tell = () => told.abort();
    const own = listeners.get(jobId) ?? new Set();
    listeners.set(jobId, own.add(tell));
    signal.addEventListener("abort", tell);
    try {
      await delay(askAgainMs, undefined, { signal: told.signal });
    } catch {
      await delay(saveDelayMs); // a thousand quick files are not a thousand events
    } finally {
      signal.removeEventListener("abort", tell);
      own.delete(tell);
      if (own.size === 0) listeners.delete(jobId);
    }
  }
}

const deploymentOf = ({ request }: OpenJob): Deployment => ({
  packageName: request.spec.name,
  appDomain: request.domain ?? null,
});
