/** String and character literals as C# writes them. */
import { compileError } from "./expression-error.ts";

export interface TextLiteral {
  readonly end: number;
  readonly value: string;
}

const simpleEscapes: ReadonlyMap<string, string> = new Map([
  ["'", "'"],
  ['"', '"'],
  ["\\", "\\"],
  ["0", "\0"],
  ["a", "\u0007"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
]);

/** `"…"` with escapes, on one line. */
export const readText = (source: string, at: number): TextLiteral => readQuoted(source, at, '"');

/** `'x'`: one UTF-16 unit, as a C# char. */
export function readCharacter(source: string, at: number): TextLiteral {
  const literal = readQuoted(source, at, "'");
  if (literal.value.length === 1) return literal;
  throw compileError(
    source,
    at,
    "A character literal holds exactly one character; text stands in double quotes.",
  );
}

/** `@"…"`: everything as it stands, a quote doubled. */
export function readVerbatimText(source: string, at: number): TextLiteral {
  const start = at + 2;
  let end = source.indexOf('"', start);
  while (end !== -1 && source.charAt(end + 1) === '"') end = source.indexOf('"', end + 2);
  if (end === -1) throw unterminated(source, at);
  return { end: end + 1, value: source.slice(start, end).replaceAll('""', '"') };
}

function readQuoted(source: string, at: number, quote: string): TextLiteral {
  let value = "";
  let position = at + 1;
  for (;;) {
    const character = source.charAt(position);
    if (character === "" || character === "\n" || character === "\r")
      throw unterminated(source, at);
    if (character === quote) return { end: position + 1, value };
    if (character === "\\") {
      const escape = readEscape(source, position);
      value += escape.value;
      position = escape.end;
    } else {
      value += character;
      position += 1;
    }
  }
}

function readEscape(source: string, at: number): TextLiteral {
  const kind = source.charAt(at + 1);
  const simple = simpleEscapes.get(kind);
  if (simple !== undefined) return { end: at + 2, value: simple };
  const digits = hexDigits(source, at + 2, kind);
  if (digits === undefined || Number.parseInt(digits, 16) > 0x10ffff) {
    throw compileError(source, at, `'\\${kind}' is not an escape sequence.`);
  }
  return {
    end: at + 2 + digits.length,
    value: String.fromCodePoint(Number.parseInt(digits, 16)),
  };
}

function hexDigits(source: string, at: number, kind: string): string | undefined {
  const rest = source.slice(at, at + 8);
  if (kind === "u") return /^[\da-f]{4}/i.exec(rest)?.[0];
  if (kind === "U") return /^[\da-f]{8}/i.exec(rest)?.[0];
  if (kind === "x") return /^[\da-f]{1,4}/i.exec(rest)?.[0];
  return undefined;
}

const unterminated = (source: string, at: number): Error =>
  compileError(source, at, "The literal has no closing quote.");
