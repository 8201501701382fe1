/** Number literals as C# writes them: `1_000`, `0xFF`, `1.5e3`, and the suffixes m d f L u. */
import { numberFromLiteral, type ExactNumber } from "../../../engine/exact-json.ts";
import { compileError } from "./expression-error.ts";
import { compareNumbers } from "./numbers.ts";

export interface NumberLiteral {
  readonly end: number;
  readonly value: number | ExactNumber;
  readonly integer: boolean;
}

const pattern =
  /(?:0[xX](?<hex>[\da-fA-F_]+)|(?<digits>\d[\d_]*)?(?<fraction>\.\d[\d_]*)?(?<exponent>[eE][-+]?\d+)?)(?<suffix>[mMdDfF]|[uU][lL]?|[lL][uU]?)?/y;

export function readNumber(source: string, at: number): NumberLiteral {
  pattern.lastIndex = at;
  const found = pattern.exec(source);
  const parts = found?.groups ?? {};
  const end = at + (found?.[0].length ?? 0);
  // `12abc` and `1.5x` are typing errors, not a number beside a name.
  if (/[\p{L}\p{N}_]/u.test(source.charAt(end))) {
    throw compileError(source, at, `'${source.slice(at, end + 1)}' is not a number.`);
  }
  const { hex, digits = "0", fraction = "", exponent = "", suffix = "" } = parts;
  if (hex !== undefined)
    return { end, value: wholeNumber(BigInt(`0x0${plain(hex)}`)), integer: true };
  const text = `${withoutLeadingZeros(plain(digits))}${plain(fraction)}${exponent}`;
  const integer = fraction === "" && exponent === "" && !/[mdf]/i.test(suffix);
  return { end, value: nearest(numberFromLiteral(text)), integer };
}

const plain = (digits: string): string => digits.replaceAll("_", "");
const withoutLeadingZeros = (digits: string): string => digits.replace(/^0+(?=\d)/, "");
const wholeNumber = (value: bigint): number | ExactNumber =>
  nearest(numberFromLiteral(value.toString()));

/** A literal's spelling is of no interest (1.10), only whether a double holds its value. */
function nearest(value: number | ExactNumber): number | ExactNumber {
  const double = Number(value);
  return compareNumbers(double, value) === 0 ? double : value;
}
