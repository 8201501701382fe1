/** From one kind of value to another: casts, `Convert` and `Parse`. */
import type { Evaluation } from "./evaluation.ts";
import { isInt32, isNumber, roundHalfEven } from "./numbers.ts";
import type { CastType } from "./syntax-tree.ts";
import { describe, payForDigits, textOf } from "./values.ts";

/** `(int)x` and its like. A cast does not read texts; only `(bool)` does, as JSON views do. */
export function cast(run: Evaluation, to: CastType, value: unknown): unknown {
  if (to === "string") return value === null ? null : textOf(run, value);
  if (to === "bool") return booleanOf(run, value);
  const number = numberOf(run, value, `a cast to ${to}`);
  if (to === "int") return int32(run, Math.trunc(number));
  return to === "long" ? int64(run, Math.trunc(number)) : number;
}

export function numberOf(run: Evaluation, value: unknown, user: string): number {
  if (!isNumber(value)) throw run.failure(`${user} needs a number, not ${describe(value)}.`);
  payForDigits(run, value);
  return Number(value);
}

/** A boolean, or a text that spells one. */
export function booleanFrom(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  if (typeof value !== "string" || value.length > 100) return undefined;
  const word = value.trim().toLowerCase();
  if (word === "true") return true;
  return word === "false" ? false : undefined;
}

export function booleanOf(run: Evaluation, value: unknown): boolean {
  const found = booleanFrom(value);
  if (found === undefined) throw run.failure(`A boolean is needed, not ${describe(value)}.`);
  return found;
}

/** `Convert.ToInt32` and its like: null is zero, texts are read, booleans count as 1 and 0. */
export function convertToNumber(run: Evaluation, value: unknown): number {
  if (value === null) return 0;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "string") return parseReal(run, value);
  return numberOf(run, value, "Convert");
}

/** Halves go to the even neighbour; a text must spell a whole number. */
export const convertToWhole = (run: Evaluation, value: unknown): number =>
  typeof value === "string" ? parseWhole(run, value) : roundHalfEven(convertToNumber(run, value));

export function convertToBoolean(run: Evaluation, value: unknown): boolean {
  if (value === null) return false;
  if (isNumber(value)) return numberOf(run, value, "Convert") !== 0;
  return booleanOf(run, value);
}

export const parseWhole = (run: Evaluation, value: unknown): number =>
  parseNumber(run, value, /^[-+]?\d+$/);

/** No thousands separators: they would read the decimal comma of "1,5" as fifteen. */
export const parseReal = (run: Evaluation, value: unknown): number =>
  parseNumber(run, value, /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i);

function parseNumber(run: Evaluation, value: unknown, pattern: RegExp): number {
  if (typeof value !== "string")
    throw run.failure(`Text is needed to parse, not ${describe(value)}.`);
  run.spend(value.length);
  const text = value.trim();
  if (pattern.test(text)) return Number(text);
  throw run.failure(`${describe(value)} does not spell a number of that type.`);
}

export function int32(run: Evaluation, value: number): number {
  if (isInt32(value)) return value;
  throw run.failure(`${value} does not fit a 32-bit integer.`);
}

/** Beyond 2^53 a double skips whole numbers, so a `long` of that size is refused, not rounded. */
export function int64(run: Evaluation, value: number): number {
  if (Number.isSafeInteger(value)) return value;
  throw run.failure(`${value} is not a whole number of at most 53 bits.`);
}
