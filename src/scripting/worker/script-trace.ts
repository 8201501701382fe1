/** Where in the author's text an error comes from, read off the engine's trace. */
import type { ScriptPosition } from "../sandbox.ts";
import { authorName } from "./module-names.ts";

export interface TracePlace {
  readonly scriptName: string;
  readonly position: ScriptPosition;
}

/**
 * The first frame that is the author's: the frames of the prelude above it say how the contract's
 * objects work inside, which is not what the author looks for.
 */
export function placeOf(
  trace: string,
  scriptName: string,
  helpers: readonly string[],
): TracePlace | undefined {
  for (const [, module = "", line, column] of trace.matchAll(frame)) {
    const name = authorName(module, scriptName, helpers);
    if (name !== undefined) {
      return { scriptName: name, position: { line: Number(line), column: Number(column) } };
    }
  }
  return undefined;
}

/** `    at InputHandler (script:3:14)` or, for what does not parse, `    at script:3:14`. */
const frame = /^ {4}at (?:.* \()?(script|helper\/\d{1,4}):(\d{1,7}):(\d{1,7})\)?$/gm;
