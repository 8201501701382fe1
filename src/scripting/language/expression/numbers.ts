/**
 * Numbers of an expression: doubles, and JSON's exact numbers as they came.
 *
 * Comparing is exact whatever the length (9007199254740993 is not 9007199254740992, and 1.10 is
 * 1.1). Computing is done in doubles, also for literals with the decimal suffix `m`: an amount that
 * must be computed to the cent belongs in a script.
 */
import { isExactNumber, type ExactNumber } from "../../../engine/exact-json.ts";

export type AnyNumber = number | ExactNumber;

export const isNumber = (value: unknown): value is AnyNumber =>
  typeof value === "number" || isExactNumber(value);

/** Negative, zero or positive; NaN when either is NaN, so that every comparison is false. */
export function compareNumbers(a: AnyNumber, b: AnyNumber): number {
  // Rounding to a double keeps the order: only where both round to the same do digits decide.
  const [left, right] = [Number(a), Number(b)];
  if (left !== right) return left < right ? -1 : left > right ? 1 : Number.NaN;
  if (typeof a === "number" && typeof b === "number") return 0;
  return compareDecimals(decimalOf(a), decimalOf(b));
}

/** ±0.digits × 10^point, without zeros at either end; zero has no digits. */
interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly point: number;
}

function decimalOf(value: AnyNumber): Decimal {
  const text = typeof value === "number" ? String(value) : value.text;
  if (text.endsWith("Infinity")) {
    return { negative: text.startsWith("-"), digits: "1", point: Number.POSITIVE_INFINITY };
  }
  const [mantissa = "", exponent = "0"] = text.replace(/^-/, "").toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const all = `${whole}${fraction}`;
  const start = firstNonZero(all);
  const digits = all.slice(start, lastNonZero(all) + 1);
  const point = digits === "" ? 0 : whole.length - start + Number(exponent);
  return { negative: digits !== "" && text.startsWith("-"), digits, point };
}

// By hand: /0+$/ takes quadratic time on a long run of zeros inside a number.
function firstNonZero(digits: string): number {
  let at = 0;
  while (at < digits.length && digits.charCodeAt(at) === 48) at += 1;
  return at;
}

function lastNonZero(digits: string): number {
  let at = digits.length - 1;
  while (at >= 0 && digits.charCodeAt(at) === 48) at -= 1;
  return at;
}

function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.negative !== b.negative) return a.negative ? -1 : 1;
  return a.negative ? compareSizes(b, a) : compareSizes(a, b);
}

function compareSizes(a: Decimal, b: Decimal): number {
  if (a.digits === "" || b.digits === "") return Math.sign(a.digits.length - b.digits.length);
  if (a.point !== b.point) return a.point < b.point ? -1 : 1;
  return a.digits === b.digits ? 0 : a.digits < b.digits ? -1 : 1;
}

/** Rounds halves to the even neighbour, as .NET does unless told otherwise. */
export function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

export const isInt32 = (value: number): boolean =>
  Number.isInteger(value) && value >= -2_147_483_648 && value <= 2_147_483_647;
