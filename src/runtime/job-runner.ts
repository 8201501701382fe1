/**
 * Does the queued work: transitions accepted with `sync=false`, scheduled transitions, timeouts.
 *
 * A job that is due now is written already claimed by the node that accepts it and starts as soon as
 * the write is known; no other node looks at it while this one lives. Everything else is claimed
 * when it is due. A node says every second that it lives; the jobs of one that stops saying so are
 * free for the others a few seconds later.
 *
 * When the database goes away between a write and its answer, nobody knows whether the write was
 * made. So an attempt after trouble begins by reading the job anew: it may be done, somebody else's,
 * or further on than remembered. And jobs that are this node's on disk but not in its hands are
 * freed with the next heartbeat.
 */
import { setMaxListeners } from "node:events";
import type { Instance } from "../engine/instance.ts";
import type { JobType } from "../engine/job-name.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";
import type { Tools } from "../engine/transition/run.ts";
import type { JobToAdd } from "../storage/instance-store.ts";
import type { Job, JobStore } from "../storage/job-store.ts";
import type { HeldJobs, JobExecution } from "./execution.ts";
import type { FaultPoint } from "./fault-point.ts";
import { later, type JobEnd, type Known } from "./run-job.ts";

export interface NewJob {
  type: JobType;
  instance: Instance;
  sourceState: string;
  transitionKey: string;
  payload: string;
}

export interface PreparedJob {
  row: JobToAdd;
  /** Waits for the write of the row. When it fails, nobody knows whether the row is there. */
  during<T>(write: Promise<T>): Promise<T>;
  /** The row is on disk, and the instance is as given: go. */
  begin(stored: Instance): void;
  /** The row was not written after all. */
  withdraw(): void;
}

export interface JobRunner {
  prepare(job: NewJob): PreparedJob;
  /**
   * Does a job that somebody waits for, and what follows from it. Resolves to how the run left the
   * instance, or undefined when it goes on elsewhere. Rejects when the database goes away; the job is
   * done all the same.
   */
  run(execution: JobExecution): Promise<Ended | undefined>;
  /** Does what follows from a run, one after the other; the jobs are in hand already. */
  follow(jobs: readonly Job[]): Promise<void>;
  /** Jobs were written that somebody will have to do; so that this node looks in time. */
  noticed(jobs: readonly JobToAdd[]): void;
  readonly held: HeldJobs;
  start(): Promise<void>;
  /** From now on nothing new is taken. */
  drain(): void;
  /** Takes no more, lets what runs end within the grace, leaves the rest to the others. */
  stop(graceMs: number): Promise<void>;
  readonly running: number;
}

export interface Ended {
  instance: Instance;
  /** False when what followed may have changed it again. */
  isLatest: boolean;
}

export interface JobRunnerOptions {
  store: JobStore;
  tools: Tools;
  nodeId: string;
  /** Does one job; see `run-job.ts`. */
  run: (job: Job, known: Known | undefined, signal: AbortSignal) => Promise<JobEnd>;
  faultPoint: FaultPoint;
  onTrouble: (event: string, error: unknown) => void;
  /** What those who run the service should know. */
  onEvent: (event: string, fields: Record<string, unknown>) => void;
  /** Whether this node claims jobs at all; one that does not still runs what it accepts. */
  claims: boolean;
  most?: number;
}

const beatMs = 1000;
const aliveSeconds = 5;
const pollMs = 1000;
/** A job that is written while the list of those in hand is on its way to the database. */
const spareSeconds = 3;
const longestRetryMs = 5000;
/** Of a run that is overtaken again and again; then it makes room for others. */
const attemptsAtOnce = 20;

export function createJobRunner(options: JobRunnerOptions): JobRunner {
  const { store, tools, nodeId, onTrouble, onEvent, faultPoint } = options;
  const most = options.most ?? 64;
  const running = new Set<Promise<unknown>>();
  const held = createHeldJobs();
  /** First nothing new is taken; then, after the grace, what still runs is stopped. */
  let draining = false;
  const stopping = new AbortController();
  // Every job that runs listens to it.
  setMaxListeners(0, stopping.signal);
  let reserved = 0;
  let isClaiming = false;
  let wakeUp: (() => void) | undefined;
  let wokenEarly = false;
  let wakeTimer: NodeJS.Timeout | undefined;
  let wakeAt = Infinity;
  let loop: Promise<void> | undefined;
  let beating: Promise<void> | undefined;
  let failingSince: number | undefined;
  let sparesOthersUntil = -Infinity;

  const room = () => most - running.size - reserved;

  const track = (work: Promise<unknown>) => {
    running.add(work);
    void work.finally(() => {
      running.delete(work);
      // There is room again for what was left unclaimed.
      if (running.size === most - 1) wake();
    });
  };

  const wake = () => {
    clearTimeout(wakeTimer);
    wakeAt = Infinity;
    // The loop may be in the middle of a claim that will not see what this is about.
    if (wakeUp === undefined) wokenEarly = true;
    else wakeUp();
  };

  const wakeIn = (ms: number) => {
    const at = performance.now() + ms;
    if (at >= wakeAt) return;
    wakeAt = at;
    clearTimeout(wakeTimer);
    wakeTimer = setTimeout(wake, Math.min(ms, 2 ** 31 - 1));
  };

  /** Until the end of the job: trouble with the database is waited out, the work is never dropped. */
  const runToEnd = async (
    first: Job,
    known: Known | undefined,
    onAway?: (error: StorageUnavailable) => void,
  ): Promise<Ended | undefined> => {
    let job = first;
    let memory = known;
    let isSure = true;
    let putsOff = false;
    held.hold(job.id);
    try {
      for (let attempt = 1, waitMs = 100; ; attempt += 1) {
        try {
          if (!isSure) {
            const current = await store.reload(job, nodeId);
            if (current === undefined) return undefined;
            job = current;
            isSure = true;
          }
          const end = putsOff ? later(job) : await options.run(job, memory, stopping.signal);
          memory = undefined;
          switch (end.kind) {
            case "done": {
              const { instance, followUps = [] } = end;
              await follow(followUps, onAway);
              if (instance === undefined) return undefined;
              return { instance, isLatest: followUps.length === 0 };
            }
            case "stopped":
              return undefined;
            case "becameJob":
              // Held since before it was written.
              held.letGo(job.id);
              job = end.execution.job;
              memory = { execution: end.execution };
              break;
            case "overtaken":
              isSure = false;
              putsOff = attempt >= attemptsAtOnce;
              break;
            case "later":
              await store.release(job, nodeId, end.delayMs);
              wakeIn(end.delayMs);
              return undefined;
          }
        } catch (error) {
          memory = undefined;
          isSure = false;
          if (error instanceof StorageUnavailable) {
            onTrouble("JobWaitsForStorage", error);
            onAway?.(error);
          } else {
            onTrouble("JobFailed", error);
            putsOff = true;
          }
          if (await sleep(waitMs)) return undefined;
          waitMs = Math.min(waitMs * 2, longestRetryMs);
        }
      }
    } finally {
      held.letGo(job.id);
    }
  };

  /** In hand since before they were written. */
  const follow = async (
    jobs: readonly Job[],
    onAway?: (error: StorageUnavailable) => void,
  ): Promise<void> => {
    for (const next of jobs) {
      const following = runToEnd(next, undefined, onAway);
      held.letGo(next.id);
      await following;
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
        wokenEarly = false;
        resolve();
      };
      if (wokenEarly || stopping.signal.aborted) wakeUp();
    });

  const claimLoop = async () => {
    while (!stopping.signal.aborted) {
      let waitMs = pollMs;
      if (room() > 0 && !draining) {
        isClaiming = true;
        try {
          faultPoint("before-claim");
          const { jobs, nextDueMs } = await store.claim(nodeId, room());
          if (jobs.length > 0) faultPoint("after-claim");
          for (const job of jobs) track(runToEnd(job, undefined));
          waitMs = Math.min(pollMs, Math.max(0, nextDueMs ?? pollMs));
        } catch (error) {
          onTrouble("JobClaimFailed", error);
        }
        isClaiming = false;
      }
      const woken = untilWoken();
      wakeIn(waitMs);
      await woken;
    }
  };

  const live = async () => {
    try {
      const lived = await store.beat(nodeId, aliveSeconds);
      if (!lived && beating !== undefined) onEvent("TakenForDead", { node: nodeId });
    } catch (error) {
      failingSince ??= performance.now();
      throw error;
    }
    if (failingSince === undefined) return;
    const seconds = Math.round((performance.now() - failingSince) / 1000);
    onEvent("HeartbeatBack", { seconds });
    failingSince = undefined;
    // The others may have been as helpless: they get time to say that they live.
    sparesOthersUntil = performance.now() + aliveSeconds * 1000;
  };

  const freeOthers = async () => {
    if (performance.now() < sparesOthersUntil) return 0;
    const { nodes, freed } = await store.sweep();
    if (nodes.length > 0) onEvent("NodesGone", { nodes, jobs: freed });
    return freed;
  };

  const beat = async () => {
    await live();
    let freed = await freeOthers();
    // What a claim has just brought is not in our hands yet.
    if (!isClaiming) freed += await store.releaseAll(nodeId, held.ids(), spareSeconds);
    if (freed > 0) wake();
  };

  const beatLoop = async () => {
    while (!(await sleep(beatMs))) {
      await beat().catch((error: unknown) => onTrouble("HeartbeatFailed", error));
    }
  };

  return {
    held,
    prepare({ type, instance, sourceState, transitionKey, payload }) {
      const ours = room() > 0 && !draining;
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
      if (ours) {
        reserved += 1;
        held.hold(id);
      }
      const withdraw = () => {
        if (!ours) return;
        reserved -= 1;
        held.letGo(id);
      };
      return {
        row,
        withdraw,
        async during(write) {
          try {
            return await write;
          } catch (error) {
            withdraw();
            throw error;
          }
        },
        begin(stored) {
          if (!ours) return wake();
          const { domain, flow, id: instanceId } = instance;
          const job: Job = {
            id,
            type,
            instanceId,
            domain,
            flow,
            sourceState,
            transitionKey,
            payload,
            attempts: 1,
          };
          track(runToEnd(job, { instance: stored }));
          withdraw();
        },
      };
    },
    run: (execution) =>
      new Promise((resolve, reject) => {
        track(runToEnd(execution.job, { execution }, reject).then(resolve));
        held.letGo(execution.job.id);
      }),
    follow: (jobs) =>
      new Promise((resolve, reject) => {
        track(follow(jobs, reject).then(resolve));
      }),
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
      beating = beatLoop();
      if (options.claims) loop = claimLoop();
    },
    drain() {
      draining = true;
    },
    async stop(graceMs) {
      draining = true;
      const grace = new Promise<void>((resolve) => {
        setTimeout(resolve, graceMs).unref();
      });
      await Promise.race([Promise.allSettled(running), grace]);
      stopping.abort();
      wake();
      await Promise.all([loop, beating, ...running]);
      clearTimeout(wakeTimer);
      try {
        const jobs = await store.releaseAll(nodeId, []);
        if (jobs > 0) onEvent("JobsLeftToOthers", { jobs });
      } catch (error) {
        onTrouble("ReleaseFailed", error);
      }
      await store.leave(nodeId).catch((error: unknown) => onTrouble("LeaveFailed", error));
    },
    get running() {
      return running.size;
    },
  };
}

/** Counted: a node that was taken for dead may claim a job anew that it still runs. */
function createHeldJobs(): HeldJobs & { ids(): string[] } {
  const holds = new Map<string, number>();
  return {
    hold: (id) => void holds.set(id, (holds.get(id) ?? 0) + 1),
    letGo(id) {
      const left = (holds.get(id) ?? 0) - 1;
      if (left > 0) holds.set(id, left);
      else holds.delete(id);
    },
    ids: () => [...holds.keys()],
  };
}
