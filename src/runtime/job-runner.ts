/**
 * Does the queued work: transitions accepted with `sync=false`, scheduled transitions, timeouts.
 *
 * A job that is due now is written already claimed by the node that accepts it and starts as soon as
 * the write is known; no other node looks at it while this one lives. Everything else is claimed
 * when it is due. A node says every second that it lives; the jobs of one that stops saying so are
 * free for the others a few seconds later.
 */
import { parseJson } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import type { JobType } from "../engine/job-name.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";
import type { QueuedRun } from "../engine/transition/checkpoint.ts";
import type { Tools } from "../engine/transition/run.ts";
import type { JobToAdd } from "../storage/instance-store.ts";
import type { Job, JobStore } from "../storage/job-store.ts";
import type { FaultPoint } from "./fault-point.ts";
import type { JobEnd } from "./run-job.ts";

export interface NewJob {
  type: JobType;
  instance: Instance;
  sourceState: string;
  transitionKey: string;
  payload: string;
}

export interface PreparedJob {
  row: JobToAdd;
  /** The row is on disk, and the instance is as given: go. */
  begin(stored: Instance): void;
  /** The row was not written after all. */
  withdraw(): void;
}

export interface JobRunner {
  prepare(job: NewJob): PreparedJob;
  /** Jobs were written that somebody will have to do; so that this node looks in time. */
  noticed(jobs: readonly JobToAdd[]): void;
  start(): Promise<void>;
  /** Takes no more, lets what runs end within the grace, puts the rest back. */
  stop(graceMs: number): Promise<void>;
  readonly running: number;
}

export interface JobRunnerOptions {
  store: JobStore;
  tools: Tools;
  nodeId: string;
  /** Does one job; see `run-job.ts`. */
  run: (job: Job, known: Instance | undefined, signal: AbortSignal) => Promise<JobEnd>;
  faultPoint: FaultPoint;
  onTrouble: (event: string, error: unknown) => void;
  /** Whether this node claims jobs at all; one that does not still runs what it accepts. */
  claims: boolean;
  most?: number;
}

const beatMs = 1000;
const aliveSeconds = 5;
const pollMs = 1000;
const longestRetryMs = 5000;

export function createJobRunner(options: JobRunnerOptions): JobRunner {
  const { store, tools, nodeId, onTrouble, faultPoint } = options;
  const most = options.most ?? 64;
  const running = new Set<Promise<void>>();
  const stopping = new AbortController();
  let reserved = 0;
  let wakeUp: (() => void) | undefined;
  let wakeTimer: NodeJS.Timeout | undefined;
  let wakeAt = Infinity;
  let loop: Promise<void> | undefined;
  let beating: NodeJS.Timeout | undefined;

  const room = () => most - running.size - reserved;

  const track = (work: Promise<void>) => {
    running.add(work);
    void work.finally(() => {
      running.delete(work);
      // There is room again for what was left unclaimed.
      if (running.size === most - 1) wake();
    });
  };

  const wake = () => {
    wakeUp?.();
  };

  const wakeIn = (ms: number) => {
    const at = performance.now() + ms;
    if (at >= wakeAt) return;
    wakeAt = at;
    clearTimeout(wakeTimer);
    wakeTimer = setTimeout(wake, Math.min(ms, 2 ** 31 - 1));
  };

  /** Until the end of the job: trouble with the database is waited out, the work is never dropped. */
  const runToEnd = async (job: Job, known: Instance | undefined): Promise<void> => {
    let instance = known;
    for (let waitMs = 100; ; waitMs = Math.min(waitMs * 2, longestRetryMs)) {
      try {
        const end = await options.run(job, instance, stopping.signal);
        if (end.kind === "later") {
          await store.release(job.id, nodeId, end.delayMs);
          wakeIn(end.delayMs);
        }
        return;
      } catch (error) {
        if (!(error instanceof StorageUnavailable)) {
          onTrouble("JobFailed", error);
          return;
        }
        onTrouble("JobWaitsForStorage", error);
        instance = undefined;
        if (await sleep(waitMs)) return;
      }
    }
  };

  /** True when the runner is stopping. */
  const sleep = (ms: number) =>
    new Promise<boolean>((resolve) => {
      if (stopping.signal.aborted) return resolve(true);
      const done = () => {
        clearTimeout(timer);
        stopping.signal.removeEventListener("abort", done);
        resolve(stopping.signal.aborted);
      };
      const timer = setTimeout(done, ms);
      stopping.signal.addEventListener("abort", done);
    });

  const untilWoken = () =>
    new Promise<void>((resolve) => {
      wakeUp = () => {
        wakeUp = undefined;
        clearTimeout(wakeTimer);
        wakeAt = Infinity;
        resolve();
      };
      if (stopping.signal.aborted) wakeUp();
    });

  const claimLoop = async () => {
    while (!stopping.signal.aborted) {
      let waitMs = pollMs;
      if (room() > 0) {
        try {
          faultPoint("before-claim");
          const { jobs, nextDueMs } = await store.claim(nodeId, room());
          faultPoint("after-claim");
          for (const job of jobs) track(runToEnd(job, undefined));
          waitMs = Math.min(pollMs, Math.max(0, nextDueMs ?? pollMs));
        } catch (error) {
          onTrouble("JobClaimFailed", error);
        }
      }
      const woken = untilWoken();
      wakeIn(waitMs);
      await woken;
    }
  };

  const beat = async () => {
    await store.beat(nodeId, aliveSeconds);
    const freed = await store.sweep();
    if (freed > 0) wake();
  };

  return {
    prepare({ type, instance, sourceState, transitionKey, payload }) {
      const ours = room() > 0 && !stopping.signal.aborted;
      if (ours) reserved += 1;
      const id = tools.uuid();
      const row: JobToAdd = {
        id,
        type,
        instanceId: instance.id,
        sourceState,
        transitionKey,
        payload,
        owner: ours ? nodeId : undefined,
      };
      const { domain, flow } = instance;
      return {
        row,
        begin(stored) {
          if (!ours) return wake();
          reserved -= 1;
          const job = { ...row, domain, flow, attempts: 1, payload };
          track(runToEnd({ ...job, sourceState, transitionKey, instanceId: instance.id }, stored));
        },
        withdraw() {
          if (ours) reserved -= 1;
        },
      };
    },
    noticed(jobs) {
      for (const job of jobs) {
        if (job.owner !== undefined) continue;
        const ms = job.delayMs ?? (job.dueAt === undefined ? 0 : job.dueAt.getTime() - Date.now());
        wakeIn(Math.max(0, ms) + 1);
      }
    },
    async start() {
      // Before anything is claimed: a job whose owner is no living node is anybody's.
      await beat();
      beating = setInterval(() => {
        beat().catch((error: unknown) => onTrouble("HeartbeatFailed", error));
      }, beatMs);
      if (options.claims) loop = claimLoop();
    },
    async stop(graceMs) {
      // Nothing new; what runs may end by itself.
      const grace = new Promise<void>((resolve) => {
        setTimeout(resolve, graceMs).unref();
      });
      await Promise.race([Promise.allSettled(running), grace]);
      stopping.abort();
      wake();
      await loop;
      await Promise.race([Promise.allSettled(running), sleepPlain(1000)]);
      clearInterval(beating);
      clearTimeout(wakeTimer);
      await store.releaseAll(nodeId).catch((error: unknown) => onTrouble("ReleaseFailed", error));
      await store.leave(nodeId).catch((error: unknown) => onTrouble("LeaveFailed", error));
    },
    get running() {
      return running.size;
    },
  };
}

const sleepPlain = (ms: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, ms).unref();
  });

export const queuedRunIn = (payload: string | undefined): QueuedRun =>
  parseJson(payload ?? "{}") as unknown as QueuedRun;
