/**
 * The static members an expression may use: those of C#'s interpreter defaults that are pure.
 * The clock is not among them (`DateTime.UtcNow`): a rule that is asked twice answers the same.
 */
import {
  booleanOf,
  convertToBoolean,
  convertToNumber,
  convertToWhole,
  int32,
  int64,
  numberOf,
  parseReal,
  parseWhole,
} from "./conversions.ts";
import { workPerItem, type Evaluation } from "./evaluation.ts";
import { commonNumberKind, type Kind } from "./kinds.ts";
import { textMaker } from "./operators.ts";
import { roundHalfEven } from "./numbers.ts";
import { describe, equals, textOf } from "./values.ts";

export interface StaticMethod {
  kind(args: readonly Kind[]): Kind;
  readonly takes: readonly [number, number];
  call(run: Evaluation, args: readonly unknown[], kinds: readonly Kind[]): unknown;
}

type Type = ReadonlyMap<string, StaticMethod>;

const method = (
  kind: Kind,
  takes: readonly [number, number],
  call: StaticMethod["call"],
): StaticMethod => ({ kind: () => kind, takes, call });

const any = Number.POSITIVE_INFINITY;

const math = (name: string, compute: (value: number) => number): [string, StaticMethod] => [
  name,
  method("real", [1, 1], (run, [value]) => compute(numberOf(run, value, `Math.${name}`))),
];

/** Whole numbers stay whole: Math.Max(7, 2) / 2 is 3. */
const wholeMath = (
  name: string,
  count: number,
  compute: (...values: number[]) => number,
): [string, StaticMethod] => [
  name,
  {
    kind: commonNumberKind,
    takes: [count, count],
    call: (run, args) => compute(...args.map((arg) => numberOf(run, arg, `Math.${name}`))),
  },
];

const mathType: Type = new Map([
  wholeMath("Abs", 1, Math.abs),
  wholeMath("Min", 2, Math.min),
  wholeMath("Max", 2, Math.max),
  wholeMath("Sign", 1, Math.sign),
  ["Round", method("real", [1, 2], round)],
  math("Floor", Math.floor),
  math("Ceiling", Math.ceil),
  math("Truncate", Math.trunc),
  math("Sqrt", Math.sqrt),
  [
    "Pow",
    method("real", [2, 2], (run, [base, power]) =>
      Math.pow(numberOf(run, base, "Math.Pow"), numberOf(run, power, "Math.Pow")),
    ),
  ],
]);

function round(run: Evaluation, [value, decimals = 0]: readonly unknown[]): number {
  const number = numberOf(run, value, "Math.Round");
  const digits = numberOf(run, decimals, "Math.Round");
  if (!Number.isInteger(digits) || digits < 0 || digits > 15) {
    throw run.failure(`Math.Round keeps 0 to 15 decimals, not ${digits}.`);
  }
  const scale = 10 ** digits;
  // From here on a double has no decimals left to round away, as in .NET.
  if (digits > 0 && Math.abs(number) >= 1e16) return number;
  return roundHalfEven(number * scale) / scale;
}

const convertType: Type = new Map([
  ["ToInt32", method("int", [1, 1], (run, [value]) => int32(run, convertToWhole(run, value)))],
  ["ToInt64", method("int", [1, 1], (run, [value]) => int64(run, convertToWhole(run, value)))],
  ["ToDouble", method("real", [1, 1], (run, [value]) => convertToNumber(run, value))],
  ["ToDecimal", method("real", [1, 1], (run, [value]) => convertToNumber(run, value))],
  ["ToBoolean", method("bool", [1, 1], (run, [value]) => convertToBoolean(run, value))],
  ["ToString", method("text", [1, 1], (run, args, kinds) => texts(run, args, kinds).join(""))],
]);

const stringType: Type = new Map([
  ["IsNullOrEmpty", method("bool", [1, 1], (run, [value]) => textOf(run, value) === "")],
  [
    "IsNullOrWhiteSpace",
    method("bool", [1, 1], (run, [value]) => run.text(textOf(run, value)).trim() === ""),
  ],
  ["Equals", method("bool", [2, 2], (run, [a, b]) => equals(run, a, b))],
  [
    "Concat",
    method("text", [1, any], (run, args, kinds) => joined(run, texts(run, args, kinds), "")),
  ],
  ["Join", method("text", [2, any], join)],
]);

function join(run: Evaluation, args: readonly unknown[], kinds: readonly Kind[]): string {
  const [separator, ...items] = args;
  if (typeof separator !== "string") {
    throw run.failure(`string.Join takes a text as separator, not ${describe(separator)}.`);
  }
  const [list] = items;
  const parts =
    items.length === 1 && Array.isArray(list)
      ? list.map((item: unknown) => paidText(run, item))
      : texts(run, items, kinds.slice(1));
  return joined(run, parts, separator);
}

function joined(run: Evaluation, parts: readonly string[], separator: string): string {
  // Paid before it is made: a long separator between many items multiplies.
  run.spend(parts.length * (separator.length + workPerItem));
  return run.fitting(parts.join(separator));
}

const texts = (run: Evaluation, values: readonly unknown[], kinds: readonly Kind[]): string[] =>
  values.map((value, i) => run.text(textMaker(kinds[i] ?? "any")(run, value)));

const paidText = (run: Evaluation, value: unknown): string => run.text(textOf(run, value ?? null));

const parsing = (kind: Kind, parse: (run: Evaluation, text: unknown) => unknown): Type =>
  new Map([["Parse", method(kind, [1, 1], (run, [text]) => parse(run, text))]]);

const intType = parsing("int", (run, text) => int32(run, parseWhole(run, text)));
const longType = parsing("int", (run, text) => int64(run, parseWhole(run, text)));
const realType = parsing("real", parseReal);
const boolType = parsing("bool", booleanOf);

/** By the keyword and by the type's own name, as C# has them. */
export const staticTypes: ReadonlyMap<string, Type> = new Map([
  ["Math", mathType],
  ["Convert", convertType],
  ["string", stringType],
  ["String", stringType],
  ["int", intType],
  ["Int32", intType],
  ["long", longType],
  ["Int64", longType],
  ["double", realType],
  ["Double", realType],
  ["float", realType],
  ["Single", realType],
  ["decimal", realType],
  ["Decimal", realType],
  ["bool", boolType],
  ["Boolean", boolType],
]);
