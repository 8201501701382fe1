/**
 * Regular expressions from published schemas, run in linear time whatever the text: a pattern such
 * as `^(a+)+$` would hold the whole process for seconds on thirty characters.
 *
 * - Simple anchored patterns run natively: with one quantifier there is nothing to backtrack into.
 * - Others run in RE2. Look-aheads at a fixed place from the start (`^(?=.*\d)(?!.*\s).{8,}$`, the
 *   usual password rule, or `^P(?=\d|T\d)`) are conditions of their own, so each becomes a test.
 * - What neither can do (back-references, other look-arounds) is refused at publish. Falling back to
 *   the native engine would open the hole again.
 *
 * Linear in the text is not cheap by itself: a pattern of a thousand steps takes some of them at each
 * character. So patterns have a largest size, and tell it.
 */
import { RE2JS } from "re2js";

export interface Pattern {
  /** Steps per character of a text, at most. */
  readonly size: number;
  test(text: string): boolean;
}

const longestPattern = 5000;
const largestProgram = 5000;

/** The pattern cannot be used; the message says why. */
export class PatternMistake extends Error {
  override readonly name = "PatternMistake";
  /** As large as it would have been, where that is what is wrong with it. */
  readonly size: number;

  constructor(message: string, size = 0) {
    super(message);
    this.size = size;
  }
}

export function compilePattern(source: string): Pattern {
  if (source.length > longestPattern) {
    throw new PatternMistake(`has more than ${longestPattern} characters`);
  }
  const native = compileNative(source);
  if (isPlainlyLinear(source)) return { size: nativeSize, test: (text) => native.test(text) };
  const { conditions, rest } = splitLookAheads(source);
  const tests = conditions.map(({ source: condition, wanted }) => ({
    pattern: compileLinear(condition, source),
    wanted,
  }));
  const main = compileLinear(rest, source);
  const holds = (text: string) =>
    tests.every(({ pattern, wanted }) => pattern.test(text) === wanted);
  return {
    size: tests.reduce((sum, { pattern }) => sum + pattern.size, main.size),
    test: (text) => main.test(text) && holds(text),
  };
}

function compileNative(source: string): RegExp {
  try {
    return new RegExp(source, "u");
  } catch {
    // Without `u`, needless escapes such as `\-` and `\@` are allowed, and authors write them.
  }
  try {
    return new RegExp(source);
  } catch (error) {
    throw new PatternMistake(
      `is not a regular expression (${error instanceof Error ? error.message.replace(/^Invalid regular expression: /, "") : String(error)})`,
    );
  }
}

function compileLinear(source: string, whole: string): Pattern {
  const flags = /\(\?<[=!]/.test(source) ? RE2JS.LOOKBEHINDS : 0;
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source), flags);
    const size = compiled.programSize();
    if (size > largestProgram) {
      throw new PatternMistake("repeats too much; use smaller counts", size);
    }
    return { size, test: (text) => compiled.test(text) };
  } catch (error) {
    if (error instanceof PatternMistake) throw error;
    throw new PatternMistake(
      /\\[1-9]|\\k</.test(whole)
        ? "uses a back-reference, which cannot be matched in linear time"
        : /\(\?<?[=!]/.test(whole)
          ? "uses a look-around other than look-aheads at a fixed place from '^', which cannot be matched in linear time"
          : "uses syntax that cannot be matched in linear time (such as a repeat count above 1000)",
    );
  }
}

/** What follows the one quantifier is looked for again from each place that it may end at. */
const nativeSize = 4;
const longestNative = 64;

/** Anchored, without groups and alternatives, short, and with at most one quantifier that can vary. */
function isPlainlyLinear(source: string): boolean {
  if (!source.startsWith("^")) return false;
  // Escapes and classes stand for one character each.
  const bare = source.replaceAll(/\\.|\[(?:\\.|[^\]\\])*\]/gs, "x");
  if (/[()|]/.test(bare)) return false;
  const varying = bare.match(/[*+?]|\{\d+,\d*\}/g) ?? [];
  const repeats = [...bare.matchAll(/\{(\d+)\}/g)].map(([, count]) => Number(count));
  const length = repeats.reduce((sum, count) => sum + count, bare.length);
  return varying.length <= 1 && length <= longestNative;
}

interface Condition {
  readonly source: string;
  /** False for `(?!…)`. */
  readonly wanted: boolean;
}

/** `^`, then characters and classes without quantifier: what follows always stands at one place. */
const fixedStart =
  /^\^(?:\\[dDwWsS./^$|*+?()[\]{}-]|\[(?:\\.|[^\]\\])*\]|[^\\[\](){}|*+?^$])*(?=\(\?[=!])/;

function splitLookAheads(source: string): { conditions: Condition[]; rest: string } {
  const conditions: Condition[] = [];
  let rest = source;
  // A condition on one alternative is no condition on the whole.
  if (hasTopLevelAlternative(source)) return { conditions, rest };
  for (;;) {
    const start = fixedStart.exec(rest)?.[0];
    const end = start === undefined ? -1 : closingParenthesis(rest, start.length);
    if (start === undefined || end === -1 || /^[*+?{]/.test(rest.slice(end + 1))) break;
    const wanted = rest[start.length + 2] === "=";
    conditions.push({ source: `${start}(?:${rest.slice(start.length + 3, end)})`, wanted });
    rest = start + rest.slice(end + 1);
  }
  return { conditions, rest };
}

/** Index of the parenthesis that closes the one at `open`, or -1. */
function closingParenthesis(source: string, open: number): number {
  let depth = 0;
  for (const { index, character } of structure(source)) {
    if (index < open) continue;
    if (character === "(") depth += 1;
    if (character === ")") depth -= 1;
    if (depth === 0) return index;
  }
  return -1;
}

function hasTopLevelAlternative(source: string): boolean {
  let depth = 0;
  for (const { character } of structure(source)) {
    if (character === "(") depth += 1;
    if (character === ")") depth -= 1;
    if (character === "|" && depth === 0) return true;
  }
  return false;
}

/** The characters that build the pattern: not escaped, not inside a class. */
function* structure(source: string): Generator<{ index: number; character: string }> {
  let inClass = false;
  for (let index = 0; index < source.length; index += 1) {
    const character = source.charAt(index);
    if (character === "\\") index += 1;
    else if (inClass) inClass = character !== "]";
    else if (character === "[") inClass = true;
    else yield { index, character };
  }
}
