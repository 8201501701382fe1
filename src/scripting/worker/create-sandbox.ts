/** The sandbox on QuickJS: compiles once, keeps what it compiled, and hands calls to the threads. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { pathToFileURL } from "node:url";
import { LRUCache } from "lru-cache";
import {
  defaultLimits,
  ScriptFailed,
  ScriptSyntaxError,
  type Sandbox,
  type SandboxLimits,
  type SandboxScript,
} from "../sandbox.ts";
import { imageBytes } from "./memory-image.ts";
import type { LoadedScript } from "./messages.ts";
import { createPool } from "./pool.ts";
import { readPrelude } from "./read-prelude.ts";
import { ThreadLost, type ScriptWorker, type ThreadAnswer } from "./script-worker.ts";
import { threadProgram } from "./thread-program.ts";
import { compile } from "./web-assembly.ts";

export interface SandboxOptions {
  /** The contract's modules by name, `invoke` and `script` among them; default: the product's own. */
  readonly prelude?: Readonly<Record<string, string>>;
  /** Threads; at least two, so that one endless script leaves one free. */
  readonly threads?: number;
  readonly limits?: Partial<SandboxLimits>;
  /** Bytes of loaded scripts to keep, for all threads together. */
  readonly keepBytes?: number;
}

export interface QuickJsSandbox extends Sandbox {
  /** Starts the threads before they are needed. */
  warm(): Promise<void>;
  figures(): SandboxFigures;
}

export interface SandboxFigures {
  readonly threads: number;
  readonly started: number;
  readonly lost: number;
  readonly compiled: number;
  readonly kept: number;
  readonly keptBytes: number;
}

/** How much later than its limit a call is given up from outside. */
const graceMs = 100;
/** A compilation runs the module's top level under the time limit and parses, which nothing stops. */
const compileGraceMs = 2000;
/** The engine's stack has five megabytes. */
const mostStackBytes = 4 * 1024 * 1024;
const mostMemoryBytes = 384 * 1024 * 1024;

/** What is kept of a script. `loaded` is absent when its top level has to run in each call. */
interface Compiled {
  readonly loaded: LoadedScript | undefined;
}

export function createSandbox(options: SandboxOptions = {}): QuickJsSandbox {
  const pool = createPool({
    size: Math.max(2, options.threads ?? availableParallelism() - 1),
    program: () => prepareThreads(options.prelude),
  });
  const limits: SandboxLimits = { ...defaultLimits, ...options.limits };
  const kept = new LRUCache<string, Compiled>({
    maxSize: options.keepBytes ?? 128 * 1024 * 1024,
    sizeCalculation: ({ loaded }) => (loaded === undefined ? 1 : imageBytes(loaded.image)),
    dispose: (_, id) => pool.forget(id),
  });
  const compiling = new Map<string, Promise<Compiled>>();
  let jobs = 0;
  // The threads compare it with one 32-bit word.
  const nextNumber = () => (jobs = (jobs % 2 ** 30) + 1);
  let compilations = 0;

  const limitsOf = (wanted?: Partial<SandboxLimits>): SandboxLimits => {
    const all = { ...limits, ...wanted };
    return {
      ...all,
      stackBytes: Math.min(all.stackBytes, mostStackBytes),
      memoryBytes: Math.min(all.memoryBytes, mostMemoryBytes),
    };
  };

  const compileOnce = (script: SandboxScript): Promise<Compiled> | Compiled => {
    const ready = kept.get(script.id);
    if (ready !== undefined) return ready;
    const running = compiling.get(script.id);
    if (running !== undefined) return running;
    const compilation = compileScript(script).finally(() => compiling.delete(script.id));
    compiling.set(script.id, compilation);
    return compilation;
  };

  const compileScript = async (script: SandboxScript): Promise<Compiled> => {
    compilations += 1;
    const { id, name } = script;
    const allowed = limitsOf();
    const answer = await pool
      .run({
        script: id,
        patienceMs: allowed.timeMs + compileGraceMs,
        message: () => ({
          kind: "compile",
          number: nextNumber(),
          script: textOf(script),
          limits: allowed,
        }),
      })
      .catch((error: unknown) => {
        if (!(error instanceof ThreadLost) || !error.overdue) throw error;
        throw new ScriptSyntaxError("The script takes too long to compile", name);
      });
    if (answer.kind === "refused") {
      throw new ScriptSyntaxError(answer.message, answer.name, answer.position);
    }
    const compiled = { loaded: answer.kind === "compiled" ? answer.loaded : undefined };
    kept.set(id, compiled);
    return compiled;
  };

  const whatToLearn = (script: SandboxScript, { loaded }: Compiled, { knows }: ScriptWorker) => {
    const { id } = script;
    if (knows.has(id)) return { id };
    // What has left the cache meanwhile is not remembered: nobody would tell the thread to forget it.
    const keep = kept.has(id);
    if (keep) knows.add(id);
    return { id, learn: { script: textOf(script), loaded, keep } };
  };

  return {
    async compile(script) {
      await compileOnce(script);
    },
    async call({ script, handler, args, signal, limits: wanted }) {
      const compiled = await unlessAborted(compileOnce(script), signal);
      const allowed = limitsOf(wanted);
      const answer = await pool
        .run({
          script: script.id,
          signal,
          patienceMs: allowed.timeMs + graceMs,
          message: (worker) => ({
            kind: "call",
            number: nextNumber(),
            ...whatToLearn(script, compiled, worker),
            handler,
            args,
            limits: allowed,
          }),
        })
        .catch((error: unknown) => {
          signal?.throwIfAborted();
          throw error instanceof ThreadLost ? lostCall(script, error) : error;
        });
      return answerOf(answer, signal);
    },
    warm: () => pool.warm(),
    close: () => pool.close(),
    figures: () => ({
      ...pool.figures(),
      compiled: compilations,
      kept: kept.size,
      keptBytes: kept.calculatedSize,
    }),
  };
}

/** Callers may have more in their objects than can be sent to a thread. */
const textOf = ({ id, name, source, helpers }: SandboxScript): SandboxScript => ({
  id,
  name,
  source,
  helpers: helpers.map((helper) => ({ name: helper.name, source: helper.source })),
});

/** The compilation goes on, for whoever else waits for it. */
async function unlessAborted<T>(work: Promise<T> | T, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  signal.throwIfAborted();
  let leave!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason as Error);
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

function answerOf(answer: ThreadAnswer, signal: AbortSignal | undefined) {
  if (answer.kind === "answered") {
    const { value, logs, tookMs } = answer;
    return { value, logs, tookMs };
  }
  if (answer.kind !== "failed") throw new Error(`Unexpected answer '${answer.kind}'`);
  const { kind } = answer.failure;
  if (kind === "aborted") {
    signal?.throwIfAborted();
    throw new ScriptFailed({ ...answer.failure, kind: "crashed", logs: answer.logs });
  }
  throw new ScriptFailed({ ...answer.failure, kind, logs: answer.logs });
}

const lostCall = ({ name }: SandboxScript, { overdue, cause }: ThreadLost): ScriptFailed =>
  Object.assign(
    new ScriptFailed(
      overdue
        ? { kind: "timeout", message: "The script runs longer than it may.", scriptName: name }
        : { kind: "crashed", message: "The script broke its engine.", scriptName: name },
    ),
    { cause },
  );

/** What all threads of a sandbox share: the compiled engine, the prelude, the program. */
async function prepareThreads(prelude: Readonly<Record<string, string>> = readPrelude()) {
  const require = createRequire(import.meta.url);
  const library = "@jitl/quickjs-wasmfile-release-sync";
  const wasm = await compile(await readFile(require.resolve(`${library}/wasm`)));
  // The ES module twins of what `require` finds.
  const moduleUrl = (path: string) =>
    pathToFileURL(require.resolve(`${library}/${path}`).replace(/\.c?js$/, ".mjs")).href;
  return {
    url: threadProgram(),
    data: {
      wasm,
      glueUrl: moduleUrl("emscripten-module"),
      functionsUrl: moduleUrl("ffi"),
      prelude,
    },
  };
}
