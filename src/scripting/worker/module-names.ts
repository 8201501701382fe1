/**
 * Which module an `import` means. Inside the engine modules have names of ours, so that no text an
 * author chose can be mistaken for another module: `script`, `helper/0`, `scripting/prelude/invoke` …
 */

import { posix } from "node:path";

export const scriptModule = "script";
/** Code of the sandbox's own that imports by inner names. */
export const bridgeModule = "bridge";
/** A module that ends every evaluation it comes first in. */
export const stopModule = "stop";
export const hostModule = "sandbox:host";
const ourFolder = "scripting/";
const preludeFolder = `${ourFolder}prelude/`;
const helperFolder = "helper/";

/** What authors write for the contract's objects. */
const contractNames = ["millrace/script", "vnext:script"];

export const helperModule = (index: number): string => `${helperFolder}${index}`;

/** `tasks/http-task` and, for what the prelude shares with the host, `../contract`. */
export const preludeModule = (path: string): string => posix.normalize(preludeFolder + path);

/** The inner name of what `from` imports as `wanted`, or undefined when it may not. */
export function resolveModule(
  from: string,
  wanted: string,
  helpers: readonly string[],
): string | undefined {
  if (from === bridgeModule) return wanted;
  if (from.startsWith(ourFolder)) return fromPrelude(from, wanted);
  if (contractNames.includes(wanted)) return preludeModule("script");
  const index = helpers.indexOf(wanted);
  return index === -1 ? undefined : helperModule(index);
}

/** The prelude's own imports are paths; it alone may ask for the host's module. */
function fromPrelude(from: string, wanted: string): string | undefined {
  if (wanted === hostModule) return hostModule;
  if (!wanted.startsWith(".")) return undefined;
  const path = wanted.replace(/\.[jt]s$/, "");
  return posix.join(posix.dirname(from), path);
}

export const notFound = (wanted: string): string =>
  `Cannot find module '${wanted}': scripts can import 'millrace/script' and their helpers only`;

/** The name its author knows a module by. */
export function authorName(
  module: string,
  scriptName: string,
  helpers: readonly string[],
): string | undefined {
  if (module === scriptModule) return scriptName;
  if (!module.startsWith(helperFolder)) return undefined;
  return helpers[Number(module.slice(helperFolder.length))];
}

/** The engine's messages speak of modules by inner name. */
export const inAuthorNames = (message: string, helpers: readonly string[]): string =>
  message
    .replaceAll(/(['"])scripting\/prelude\/script\1/g, "'millrace/script'")
    .replaceAll(
      /(['"])helper\/(\d+)\1/g,
      (text: string, _: string, index: string) => `'${helpers[Number(index)] ?? text}'`,
    );
