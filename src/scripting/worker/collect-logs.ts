/** The host's end of the prelude's `log`. */
import type { LogLine } from "../log-line.ts";
import type { Address, Engine } from "./engine.ts";
import { textOf } from "./talk.ts";

const mostLines = 200;
const mostCharacters = 64 * 1024;

/** Keeps the first lines of a call: a script that logs in a loop must not fill the host's memory. */
export function collectLogs(engine: Engine, lines: LogLine[]) {
  let characters = 0;
  return (context: Address, argv: Address): void => {
    if (lines.length > mostLines || characters > mostCharacters) return;
    const argument = (index: number) =>
      textOf(engine, context, engine.js.QTS_ArgvGetJSValueConstPointer(argv, index));
    const line = { level: argument(0), message: argument(1) };
    characters += line.message.length;
    const isLast = lines.length === mostLines || characters > mostCharacters;
    lines.push(isLast ? { level: "Warning", message: "Further lines were dropped." } : line);
  };
}
