/** What a script thread does with its engine: load a script, call a handler. One thing at a time. */
import type { LogLine } from "../log-line.ts";
import type { SandboxLimits, SandboxScript, ScriptPosition } from "../sandbox.ts";
import {
  brokeEngine,
  Failed,
  hitLimit,
  neverSettles,
  noAnswer,
  threw,
  tooDeep,
  tooLong,
} from "./call-failures.ts";
import { collectLogs } from "./collect-logs.ts";
import { openEngine, type Address, type Engine, type EngineParts } from "./engine.ts";
import { LimitHit } from "./limit-hit.ts";
import { ownCopy, restoreImage, takeDifference } from "./memory-image.ts";
import type { LoadedBase, LoadedScript } from "./messages.ts";
import { moduleLoader, noMoreModules, stopSignal } from "./module-loader.ts";
import { bridgeModule, helperModule, scriptModule, stopModule } from "./module-names.ts";
import { createSeeds } from "./random-seed.ts";
import { hasOverflowed, markStack, stackMargin } from "./stack-mark.ts";
import {
  callFunction,
  evaluate,
  EvalMode,
  member,
  newText,
  PromiseState,
  runJobs,
  textOf,
  Thrown,
} from "./talk.ts";

/** A script that cannot become a module. */
export class Refused extends Error {
  readonly scriptName: string;
  readonly position: ScriptPosition | undefined;

  constructor(message: string, scriptName: string, position: ScriptPosition | undefined) {
    super(message);
    this.scriptName = scriptName;
    this.position = position;
  }
}

/** What a piece of work may use, and where its log lines go. */
export interface Allowance {
  readonly limits: SandboxLimits;
  readonly isStopped: () => boolean;
  readonly logs: LogLine[];
}

export interface HandlerCall extends Allowance {
  readonly script: SandboxScript;
  readonly loaded: LoadedScript | undefined;
  readonly handler: string;
  readonly args: string;
}

/** Beyond this an image is not kept: the top level runs in every call instead. */
const mostImageBytes = 4 * 1024 * 1024;

export class ScriptEngine {
  readonly #parts: EngineParts;
  readonly #base: LoadedBase;
  readonly #prelude: Readonly<Record<string, string>>;
  readonly #seed = createSeeds();
  #engine: Promise<Engine> | undefined;

  constructor(parts: EngineParts, base: LoadedBase, prelude: Readonly<Record<string, string>>) {
    this.#parts = parts;
    this.#base = { ...base, image: ownCopy(base.image) };
    this.#prelude = prelude;
  }

  /** Opens an engine ahead of the next call. */
  async ready(): Promise<Engine> {
    this.#engine ??= openEngine(this.#parts);
    return this.#engine;
  }

  /**
   * Undefined when the top level does not come to an end by itself: the script compiles, and its calls
   * will say what is wrong with it.
   */
  async load(script: SandboxScript, limits: SandboxLimits): Promise<LoadedScript | undefined> {
    const allowance = { limits, isStopped: () => false, logs: [] };
    await this.#onFresh((engine) => this.#check(engine, script, allowance));
    return this.#onFresh((engine) => {
      try {
        const module = this.#evaluate(engine, script, allowance);
        if (engine.hasGrown() || hasOverflowed(engine, limits.stackBytes)) return undefined;
        const image = takeDifference(engine, this.#base.image);
        return image.bytes.byteLength > mostImageBytes ? undefined : { image, module };
      } catch {
        return undefined;
      }
    });
  }

  async call(call: HandlerCall): Promise<string> {
    const engine = await this.ready();
    const { script, limits } = call;
    let intact = false;
    try {
      const outcome = this.#run(engine, this.#enter(engine, call), call);
      // Left in order, the engine serves again; left by a throw, it may be in any state.
      intact = !engine.hasGrown();
      if (hasOverflowed(engine, limits.stackBytes)) throw tooDeep(script);
      return answerOf(outcome, call);
    } catch (error) {
      throw this.#explain(engine, script, error);
    } finally {
      if (!intact) this.#engine = undefined;
    }
  }

  async #onFresh<T>(work: (engine: Engine) => T): Promise<T> {
    this.#engine = undefined;
    try {
      return work(await this.ready());
    } finally {
      this.#engine = undefined;
    }
  }

  /**
   * Parses and links without running, so that a mistake in the text is told from what the top level
   * throws: modules are loaded before any of them runs, and the first to run throws.
   */
  #check(engine: Engine, script: SandboxScript, allowance: Allowance): void {
    try {
      const { context } = this.#base;
      this.#begin(engine, script, allowance);
      const modules = [
        stopModule,
        ...script.helpers.map((_, index) => helperModule(index)),
        scriptModule,
      ];
      const source = modules.map((name) => `import "${name}";`).join("");
      evaluate(engine, context, source, bridgeModule, EvalMode.module);
    } catch (error) {
      const { message, scriptName, position } = this.#explain(engine, script, error).failure;
      if (message !== stopSignal) throw new Refused(withAdvice(message), scriptName, position);
    }
  }

  /** The module's exports: as its top level left them, or by running it. */
  #enter(engine: Engine, call: HandlerCall): Address {
    const { script, loaded } = call;
    if (loaded === undefined) return this.#evaluate(engine, script, call);
    this.#begin(engine, script, call, loaded);
    return loaded.module;
  }

  #begin(
    engine: Engine,
    script: SandboxScript,
    { limits, isStopped, logs }: Allowance,
    loaded?: LoadedScript,
  ): void {
    const { image, runtime } = this.#base;
    restoreImage(engine, image);
    if (loaded !== undefined) restoreImage(engine, loaded.image);
    const deadline = performance.now() + limits.timeMs;
    engine.callbacks = {
      shouldInterrupt() {
        if (performance.now() > deadline) throw new LimitHit("timeout");
        if (isStopped()) throw new LimitHit("aborted");
      },
      called: collectLogs(engine, logs),
      ...(loaded === undefined
        ? moduleLoader(engine, this.#prelude, script)
        : noMoreModules(engine)),
    };
    engine.js.QTS_RuntimeSetMaxStackSize(runtime, limits.stackBytes + stackMargin);
    markStack(engine, limits.stackBytes);
    limitMemory(engine, (loaded?.image ?? image).end, limits.memoryBytes);
  }

  /** Runs the top levels of the helpers and of the script. */
  #evaluate(engine: Engine, script: SandboxScript, allowance: Allowance): Address {
    const { context, expose } = this.#base;
    this.#begin(engine, script, allowance);
    for (const index of script.helpers.keys()) {
      callFunction(engine, context, expose, this.#exportsOf(engine, script, helperModule(index)));
    }
    return this.#exportsOf(engine, script, scriptModule);
  }

  #exportsOf(engine: Engine, script: SandboxScript, module: string): Address {
    const { context } = this.#base;
    const source = `import * as module from "${module}"; export { module };`;
    const bridge = evaluate(engine, context, source, bridgeModule, EvalMode.module);
    return member(engine, context, this.#settled(engine, script, bridge), "module");
  }

  /** A module with a top-level `await` is a promise of its exports first. */
  #settled(engine: Engine, script: SandboxScript, value: Address): Address {
    const { context, runtime } = this.#base;
    const { js } = engine;
    while (js.QTS_PromiseState(context, value) === PromiseState.pending) {
      engine.callbacks.shouldInterrupt();
      if (!runJobs(engine, runtime)) throw neverSettles(script, "top level");
    }
    const state = js.QTS_PromiseState(context, value);
    if (state === PromiseState.none) return value;
    const result = js.QTS_PromiseResult(context, value);
    if (state === PromiseState.rejected) throw new Thrown(result);
    return result;
  }

  #run(engine: Engine, module: Address, { script, handler, args, limits }: HandlerCall): string {
    const { context, runtime, start, outcome } = this.#base;
    engine.callbacks = { ...engine.callbacks, ...noMoreModules(engine) };
    const texts = [handler, args, `${limits.outputBytes}`, this.#seed()];
    const given = texts.map((text) => newText(engine, context, text));
    callFunction(engine, context, start, module, ...given);
    for (;;) {
      const state = textOf(engine, context, callFunction(engine, context, outcome));
      if (state !== "") return state;
      engine.callbacks.shouldInterrupt();
      if (!runJobs(engine, runtime)) throw neverSettles(script, `promise of ${handler}`);
    }
  }

  #explain(engine: Engine, script: SandboxScript, error: unknown): Failed {
    if (error instanceof Failed) return error;
    if (error instanceof LimitHit) return hitLimit(script, error);
    // The thread's own stack, under the engine's.
    if (error instanceof RangeError) return tooDeep(script);
    if (!(error instanceof Thrown)) return brokeEngine(script);
    const { context, describe } = this.#base;
    try {
      return threw(
        script,
        textOf(engine, context, callFunction(engine, context, describe, error.value)),
      );
    } catch (again) {
      return again instanceof Thrown ? brokeEngine(script) : this.#explain(engine, script, again);
    }
  }
}

/** The first letter says what the rest is (`inside-sandbox.ts`). */
function answerOf(outcome: string, { script, limits: { outputBytes } }: HandlerCall): string {
  const text = outcome.slice(1);
  switch (outcome[0]) {
    case "v":
      if (Buffer.byteLength(text) > outputBytes) throw tooLong(script, outputBytes);
      if (!isJson(text)) throw noAnswer(script);
      return text;
    case "o":
      throw tooLong(script, outputBytes);
    case "e":
      throw threw(script, text);
    default:
      throw noAnswer(script);
  }
}

/** A script can replace whatever the prelude writes JSON with. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function limitMemory(engine: Engine, used: Address, memoryBytes: number): void {
  const size = engine.bytes().byteLength;
  engine.memoryCeiling = Math.max(used + memoryBytes, size);
  // An engine starts with more memory than a small limit allows: a block nobody uses takes the rest.
  const ballast = size - used - memoryBytes;
  if (ballast > 0) engine.allocate(ballast);
}

/** Types are gone by now, so importing one without saying so looks like a missing export. */
const withAdvice = (message: string): string =>
  /could not find export/i.test(message)
    ? `${message}. If it is a type, import it with 'import type'.`
    : message;
