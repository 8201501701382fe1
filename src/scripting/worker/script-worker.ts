/**
 * One script thread, seen from the host. It does one job at a time; a job that does not come back in
 * time takes its thread with it. What replaces the thread is the pool's business.
 */
import { Worker } from "node:worker_threads";
import type { FromThread, LoadedBase, ThreadData, ToThread } from "./messages.ts";

export type ThreadAnswer = Exclude<FromThread, { kind: "ready" }>;
export type ThreadJob = Exclude<ToThread, { kind: "forget" }>;

export interface ScriptWorker {
  /** The engine with the prelude in it, to spare the next thread loading it. */
  readonly ready: Promise<LoadedBase>;
  /** Scripts this thread has in memory. */
  readonly knows: Set<string>;
  /** Rejects with `ThreadLost` when the thread ended or had to be ended. */
  run(job: ThreadJob, patienceMs: number): Promise<ThreadAnswer>;
  /** Asks the running job to stop; ends the thread when it does not listen. */
  interrupt(): void;
  forget(id: string): void;
  end(): Promise<void>;
}

/** The thread is gone, and its job with it. */
export class ThreadLost extends Error {
  /** We ended it because the job took too long; otherwise it ended by itself. */
  readonly overdue: boolean;

  constructor(overdue: boolean, cause?: unknown) {
    super(overdue ? "The script thread did not answer in time" : "The script thread ended", {
      cause,
    });
    this.overdue = overdue;
  }
}

/** How long a job may take to notice that it shall stop. */
const stopPatienceMs = 50;

/** Scripts run on the engine's own stack; the thread's has to hold the frames of the interpreter. */
const resourceLimits = {
  maxOldGenerationSizeMb: 96,
  maxYoungGenerationSizeMb: 16,
  stackSizeMb: 32,
};

export function startScriptWorker(
  program: URL,
  data: Omit<ThreadData, "stop">,
  gone: () => void,
): ScriptWorker {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const thread = new Worker(program, {
    workerData: { ...data, stop } satisfies ThreadData,
    resourceLimits,
    execArgv: [],
    env: {},
    name: "script",
  });
  let job: { number: number; settle: Settle; timer: NodeJS.Timeout } | undefined;
  let lost: ThreadLost | undefined;

  const lose = (reason: ThreadLost) => {
    if (lost !== undefined) return;
    lost = reason;
    starting.reject(reason);
    clearTimeout(job?.timer);
    job?.settle.reject(reason);
    job = undefined;
    gone();
  };
  const kill = () => {
    lose(new ThreadLost(true));
    void thread.terminate();
  };
  const giveUpAfter = (ms: number, number: number) =>
    // A host that was busy itself may find the answer and the end of its patience at the same time;
    // the answer is read first.
    setTimeout(() => setImmediate(() => job?.number === number && kill()), ms);

  const starting = withSettle<LoadedBase>();
  starting.promise.catch(() => {});
  thread.on("error", (error) => lose(new ThreadLost(false, error)));
  thread.on("exit", () => lose(new ThreadLost(false)));
  thread.on("message", (message: FromThread) => {
    if (message.kind === "ready") {
      // From here on only a running job, by its timer, keeps the process alive.
      thread.unref();
      starting.resolve(message.base);
      return;
    }
    if (message.number !== job?.number) return;
    const { settle, timer } = job;
    clearTimeout(timer);
    job = undefined;
    settle.resolve(message);
  });

  return {
    ready: starting.promise,
    knows: new Set(),
    run(message, patienceMs) {
      if (lost !== undefined) return Promise.reject(lost);
      const settle = withSettle<ThreadAnswer>();
      job = { number: message.number, settle, timer: giveUpAfter(patienceMs, message.number) };
      thread.postMessage(message, []);
      return settle.promise;
    },
    interrupt() {
      if (job === undefined) return;
      Atomics.store(stop, 0, job.number);
      clearTimeout(job.timer);
      job.timer = giveUpAfter(stopPatienceMs, job.number);
    },
    forget(id) {
      thread.postMessage({ kind: "forget", id } satisfies ToThread, []);
    },
    async end() {
      lose(new ThreadLost(false));
      await thread.terminate();
    },
  };
}

interface Settle {
  resolve(answer: ThreadAnswer): void;
  reject(reason: ThreadLost): void;
}

function withSettle<T>() {
  let resolve!: (value: T) => void;
  let reject!: (reason: ThreadLost) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
