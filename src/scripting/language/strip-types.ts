/**
 * TypeScript to JavaScript by taking the types away: what remains stands on the same line and column
 * as in the author's text. JavaScript passes through unchanged, once it is found to be well-formed.
 */
import { createRequire } from "node:module";
import { ScriptSyntaxError } from "../sandbox.ts";

interface Stripper {
  transformSync(source: string, options: object): { code: string };
}

const require = createRequire(import.meta.url);
const library = "@swc/wasm-typescript";
/** Longer texts are refused: parsing happens on the main thread, at publish. */
const longest = 1024 * 1024;

export function stripTypes(source: string, name: string): string {
  if (source.length > longest) {
    throw new ScriptSyntaxError(`The script is longer than ${longest} characters`, name);
  }
  // The parser drops a BOM and with it the first line's columns shift; a space keeps them.
  const text = source.startsWith("\ufeff") ? ` ${source.slice(1)}` : source;
  try {
    const stripper = require(library) as Stripper;
    return stripper.transformSync(text, { mode: "strip-only", module: true }).code;
  } catch (error) {
    if (isComplaint(error)) throw syntaxError(error, name);
    // Out of its stack or memory, the parser is broken for good: the next caller gets a new one.
    delete require.cache[require.resolve(library)];
    throw new ScriptSyntaxError("The script is nested too deeply to be read", name);
  }
}

/** The parser throws plain objects. */
interface Complaint {
  readonly message: string;
  readonly startLine?: number;
  readonly startColumn?: number;
}

const isComplaint = (error: unknown): error is Complaint =>
  typeof error === "object" && error !== null && "code" in error && "message" in error;

function syntaxError({ message, startLine, startColumn }: Complaint, name: string) {
  const position =
    startLine === undefined || startColumn === undefined
      ? undefined
      : { line: startLine, column: startColumn + 1 };
  return new ScriptSyntaxError(remedied(message), name, position);
}

/** What only a compiler could turn into JavaScript, and what to write instead. */
const remedies: readonly [RegExp, string][] = [
  [
    /\benum\b/,
    "Enums are not supported: write a constant object, const Color = { red: 'red' } as const",
  ],
  [
    /parameter property/,
    "Parameter properties are not supported: declare a field and assign it in the constructor",
  ],
  [
    /namespace|module declaration/,
    "Namespaces are not supported: export functions or a class with static members",
  ],
  [/import equals/, "'import x = …' is not supported: write import x from '…'"],
  [/export assignment/, "'export = …' is not supported: write export default"],
];

function remedied(message: string): string {
  return remedies.find(([pattern]) => pattern.test(message))?.[1] ?? message;
}
