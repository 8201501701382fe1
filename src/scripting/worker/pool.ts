/** The script threads together: who works, who is free, and who replaces a thread that was lost. */
import type { LoadedBase, ThreadData } from "./messages.ts";
import { startScriptWorker, ThreadLost, type ScriptWorker } from "./script-worker.ts";
import type { ThreadAnswer, ThreadJob } from "./script-worker.ts";
import { createTurns } from "./turns.ts";

export interface PoolJob {
  readonly script: string;
  /** Built for the worker that takes the job, which may know the script or not. */
  message(worker: ScriptWorker): ThreadJob;
  /** After this the thread is ended. */
  readonly patienceMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Pool {
  run(job: PoolJob): Promise<ThreadAnswer>;
  forget(script: string): void;
  warm(): Promise<void>;
  close(): Promise<void>;
  figures(): { threads: number; started: number; lost: number };
}

interface Waiting extends PoolJob {
  resolve(answer: ThreadAnswer): void;
  reject(reason: unknown): void;
}

export interface PoolOptions {
  readonly size: number;
  /** Asked once, when the first thread is needed. */
  readonly program: () => Promise<{ url: URL; data: Omit<ThreadData, "stop" | "base"> }>;
}

export function createPool({ size, program }: PoolOptions): Pool {
  const turns = createTurns<Waiting>(size, () => performance.now());
  const threads = new Set<ScriptWorker>();
  const free: ScriptWorker[] = [];
  /** Places of the pool that are taken, by threads and by those on their way. */
  let taken = 0;
  let started = 0;
  let lost = 0;
  let closed = false;
  let base: LoadedBase | undefined;
  let prepared: ReturnType<PoolOptions["program"]> | undefined;

  const open = async (): Promise<ScriptWorker> => {
    const { url, data } = await (prepared ??= program());
    if (closed) throw closedError();
    started += 1;
    let isReady = false;
    const worker = startScriptWorker(url, { ...data, base }, () => {
      lost += 1;
      threads.delete(worker);
      if (free.includes(worker)) free.splice(free.indexOf(worker), 1);
      if (!isReady) return;
      taken -= 1;
      fillUp();
    });
    threads.add(worker);
    base = await worker.ready;
    isReady = true;
    return worker;
  };

  const start = async (): Promise<void> => {
    taken += 1;
    try {
      free.push(await open());
    } catch (error) {
      taken -= 1;
      if (taken > 0) return;
      // Nobody is left to do the work, and trying again at once would try for ever.
      prepared = undefined;
      for (const job of turns.drain()) job.reject(startFailure(error));
      throw error;
    }
    dispatch();
    // The first thread has loaded the prelude for the others, which waited for it.
    fillUp();
  };

  const fillUp = () => {
    const missing = closed ? 0 : (base === undefined ? 1 : size) - taken;
    for (let n = 0; n < missing; n += 1) start().catch(() => {});
  };

  const dispatch = () => {
    for (let worker = free.at(-1); worker !== undefined; worker = free.at(-1)) {
      const job = turns.next();
      if (job === undefined) return;
      free.pop();
      void work(worker, job);
    }
  };

  const work = async (worker: ScriptWorker, job: Waiting): Promise<void> => {
    const { signal } = job;
    const began = performance.now();
    const interrupt = () => worker.interrupt();
    signal?.addEventListener("abort", interrupt, { once: true });
    let hitLimit = true;
    try {
      const answer = await worker.run(job.message(worker), job.patienceMs);
      hitLimit = isLimit(answer);
      free.push(worker);
      job.resolve(answer);
    } catch (error) {
      job.reject(closed ? closedError() : error);
    } finally {
      signal?.removeEventListener("abort", interrupt);
      turns.ended(job.script, performance.now() - began, hitLimit);
      dispatch();
    }
  };

  return {
    run(job) {
      return new Promise((resolve, reject) => {
        if (closed) return reject(closedError());
        const { signal } = job;
        if (signal?.aborted) return reject(signal.reason as Error);
        const leave = () => {
          if (turns.remove(job.script, waiting)) reject(signal?.reason as Error);
        };
        signal?.addEventListener("abort", leave, { once: true });
        const done = () => signal?.removeEventListener("abort", leave);
        const waiting: Waiting = {
          ...job,
          resolve: (answer) => (done(), resolve(answer)),
          reject: (reason) => (done(), reject(reason)),
        };
        turns.add(job.script, waiting);
        if (free.length === 0) fillUp();
        dispatch();
      });
    },
    forget(script) {
      for (const worker of threads) if (worker.knows.delete(script)) worker.forget(script);
    },
    async warm() {
      if (taken === 0) await start();
      await Promise.all([...threads].map((worker) => worker.ready));
    },
    async close() {
      closed = true;
      for (const job of turns.drain()) job.reject(closedError());
      await Promise.all([...threads].map((worker) => worker.end()));
    },
    figures: () => ({ threads: threads.size, started, lost }),
  };
}

const isLimit = (answer: ThreadAnswer): boolean =>
  answer.kind === "failed" && answer.failure.kind !== "threw";

export const closedError = (): Error => new Error("The sandbox is closed.");

const startFailure = (cause: unknown): Error =>
  new Error(`The sandbox cannot start: ${cause instanceof Error ? cause.message : "?"}`, {
    cause: cause instanceof ThreadLost ? cause.cause : cause,
  });
