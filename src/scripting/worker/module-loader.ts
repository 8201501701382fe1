/** Answers the engine's requests for modules. */
import type { Address, Engine, EngineCallbacks } from "./engine.ts";
import {
  helperModule,
  notFound,
  preludeModule,
  resolveModule,
  scriptModule,
  stopModule,
} from "./module-names.ts";
import type { SandboxScript } from "../sandbox.ts";
import { throwInside } from "./talk.ts";

export function moduleLoader(
  engine: Engine,
  prelude: Readonly<Record<string, string>>,
  script?: SandboxScript,
): Pick<EngineCallbacks, "normalizeModule" | "loadModule"> {
  const helpers = script?.helpers ?? [];
  const names = helpers.map(({ name }) => name);
  const texts = new Map<string, string>([
    ...Object.entries(prelude).map(([name, text]) => [preludeModule(name), text] as const),
    ...helpers.map(({ source }, index) => [helperModule(index), source] as const),
    [scriptModule, script?.source ?? ""],
    [stopModule, `throw ${JSON.stringify(stopSignal)};`],
  ]);
  const text = (value: string): Address => engine.writeText(value).address;

  return {
    // The engine cannot be told no here; a name that nothing has is refused when it is loaded.
    normalizeModule: (_, from, wanted) =>
      text(resolveModule(from, wanted, names) ?? `${unknownFolder}${wanted}`),
    loadModule(context, module) {
      const source = texts.get(module);
      if (source !== undefined) return text(source);
      return throwInside(engine, context, notFound(module.replace(unknownFolder, "")));
    },
  };
}

/** What the stop module throws. */
export const stopSignal = "\u0000stop";
const unknownFolder = "unknown/";

/** While a handler runs nothing more is loaded: `import()` is not part of the sandbox. */
export const noMoreModules = (
  engine: Engine,
): Pick<EngineCallbacks, "normalizeModule" | "loadModule"> => ({
  normalizeModule: () => engine.writeText(unknownFolder).address,
  loadModule: (context) =>
    throwInside(engine, context, "import() is not available in scripts: import at the top instead"),
});
