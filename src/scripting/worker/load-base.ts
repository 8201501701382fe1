/** An engine with everything in it but a script: the world taken away, the contract put in. */
import { openEngine, type Engine, type EngineParts } from "./engine.ts";
import { insideSandbox } from "./inside-sandbox.ts";
import { checkLayout, takeImage } from "./memory-image.ts";
import type { LoadedBase } from "./messages.ts";
import { preludeModule } from "./module-names.ts";
import { moduleLoader } from "./module-loader.ts";
import { callFunction, evaluate, EvalMode, member, textOf, Thrown } from "./talk.ts";

/**
 * What the language has, without typed arrays (they escape the memory limit), weak references and the
 * bignum extensions. `eval` is needed to load modules and taken from scripts in `inside-sandbox.ts`.
 */
const intrinsics =
  1 /* objects */ |
  2 /* Date */ |
  4 /* eval */ |
  8 /* normalize */ |
  16 /* RegExp */ |
  32 /* its compiler */ |
  64 /* JSON */ |
  128 /* Proxy */ |
  256 /* Map, Set */ |
  1024 /* Promise */ |
  2048; /* BigInt */

export async function loadBase(
  parts: EngineParts,
  prelude: Readonly<Record<string, string>>,
): Promise<LoadedBase> {
  const engine = await openEngine(parts);
  checkLayout(engine);
  engine.callbacks = { ...engine.callbacks, ...moduleLoader(engine, prelude) };

  const runtime = engine.js.QTS_NewRuntime();
  engine.js.QTS_RuntimeSetMaxStackSize(runtime, 1024 * 1024);
  engine.js.QTS_RuntimeEnableModuleLoader(runtime, 1);
  const context = engine.js.QTS_NewContext(runtime, intrinsics);
  try {
    const prepare = evaluate(engine, context, insideSandbox, "sandbox", EvalMode.program);
    const log = engine.js.QTS_NewFunction(context, "log", 2, false, 1);
    const inside = callFunction(engine, context, prepare, log);
    exposeHost(engine, context, inside);
    const entry = evaluate(
      engine,
      context,
      `export { invoke } from "./invoke";`,
      preludeModule("entry"),
      EvalMode.module,
    );
    const use = member(engine, context, inside, "use");
    callFunction(engine, context, use, member(engine, context, entry, "invoke"));
    const root = (name: string) => member(engine, context, inside, name);
    const roots = {
      start: root("start"),
      outcome: root("outcome"),
      describe: root("describe"),
      expose: root("expose"),
    };
    engine.js.QTS_RuntimeEnableInterruptHandler(runtime);
    return { image: takeImage(engine), runtime, context, ...roots };
  } catch (error) {
    if (!(error instanceof Thrown)) throw error;
    const text = textOf(engine, context, member(engine, context, error.value, "message"));
    const stack = textOf(engine, context, member(engine, context, error.value, "stack"));
    throw new Error(`The scripting prelude does not load: ${text}\n${stack}`, { cause: error });
  }
}

/** `import { log } from "sandbox:host"`, for the prelude alone. The global is a moment's bridge. */
function exposeHost(engine: Engine, context: number, inside: number): void {
  const bridge = evaluate(
    engine,
    context,
    `(inside) => { globalThis.$host = inside.log; }`,
    "sandbox",
    EvalMode.program,
  );
  callFunction(engine, context, bridge, inside);
  evaluate(
    engine,
    context,
    `export const log = globalThis.$host; delete globalThis.$host;`,
    "sandbox:host",
    EvalMode.module,
  );
}
