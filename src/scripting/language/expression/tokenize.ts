/** The words of an expression: names, literals and signs, each with its place. */
import type { ExactNumber } from "../../../engine/exact-json.ts";
import { compileError } from "./expression-error.ts";
import { readNumber } from "./number-literal.ts";
import { readCharacter, readText, readVerbatimText } from "./text-literal.ts";

export type Token = WordToken | NumberToken | TextToken;

export interface WordToken {
  readonly kind: "name" | "sign" | "end";
  readonly at: number;
  readonly end: number;
  readonly text: string;
}

export interface NumberToken {
  readonly kind: "number";
  readonly at: number;
  readonly end: number;
  readonly value: number | ExactNumber;
  readonly integer: boolean;
}

/** A string, a verbatim string or a character: a character is a text of length one here. */
export interface TextToken {
  readonly kind: "text";
  readonly at: number;
  readonly end: number;
  readonly value: string;
}

// `?.5` is a question mark and a number. A byte order mark counts as white space: decoded scripts
// of real packages begin with one.
const signPattern = /\?\?|\?\.(?!\d)|\?\[|&&|\|\||==|!=|<=|>=|=>|[-+*/%<>!?:.,()[\]{}&|^]/y;
const namePattern = /[\p{L}_][\p{L}\p{N}_]*/uy;
const spacePattern = /\s+/y;

export function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < source.length) {
    const space = match(spacePattern, source, at);
    if (space !== undefined) {
      at += space.length;
      continue;
    }
    const token = readToken(source, at);
    tokens.push(token);
    at = token.end;
  }
  tokens.push({ kind: "end", at, end: at, text: "" });
  return tokens;
}

function readToken(source: string, at: number): Token {
  const first = source.charAt(at);
  if (first === '"') return { kind: "text", at, ...readText(source, at) };
  if (first === "'") return { kind: "text", at, ...readCharacter(source, at) };
  if (first === "@" && source.charAt(at + 1) === '"') {
    return { kind: "text", at, ...readVerbatimText(source, at) };
  }
  if (/\d/.test(first) || (first === "." && /\d/.test(source.charAt(at + 1)))) {
    return { kind: "number", at, ...readNumber(source, at) };
  }
  const name = match(namePattern, source, at);
  if (name !== undefined) return { kind: "name", at, end: at + name.length, text: name };
  const sign = match(signPattern, source, at);
  if (sign !== undefined) return { kind: "sign", at, end: at + sign.length, text: sign };
  throw compileError(source, at, strangerSentence(source, at));
}

function strangerSentence(source: string, at: number): string {
  const stranger = String.fromCodePoint(source.codePointAt(at) ?? 0);
  if (stranger === "=") return "An expression assigns nothing; '==' compares.";
  if (stranger === ";") return "One expression is expected, without ';' and statements.";
  if (stranger === "$")
    return "Interpolated text ($\"…\") is not supported; join the parts with '+'.";
  return `${JSON.stringify(stranger)} has no meaning in an expression.`;
}

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}
