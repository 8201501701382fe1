/**
 * The methods a value has; there are no others. Which kind of receiver a method needs shows only
 * when it runs, so a name that is not in this table is refused at compile time already.
 */
import { booleanFrom } from "./conversions.ts";
import { maxTextLength, workPerItem, type Evaluation } from "./evaluation.ts";
import type { Kind } from "./kinds.ts";
import { lowerCase, strangeLetters, upperCase } from "./letter-case.ts";
import { isInt32, isNumber } from "./numbers.ts";
import { describe, equals, payForDigits, textOf } from "./values.ts";

export interface Method {
  readonly kind: Kind;
  /** How few and how many arguments. */
  readonly takes: readonly [number, number];
  readonly call: (run: Evaluation, receiver: unknown, args: readonly unknown[]) => unknown;
}

export const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["AsDouble", { kind: "real", takes: [0, 0], call: asDouble }],
  ["AsInt32", { kind: "int", takes: [0, 0], call: asInt32 }],
  ["AsBoolean", { kind: "bool", takes: [0, 0], call: asBoolean }],
  ["AsArrayLength", { kind: "int", takes: [0, 0], call: asArrayLength }],
  ["ToString", { kind: "text", takes: [0, 0], call: textOf }],
  [
    "Equals",
    { kind: "bool", takes: [1, 1], call: (run, value, [other]) => equals(run, value, other) },
  ],
  ["Contains", { kind: "bool", takes: [1, 1], call: contains }],
  ["StartsWith", textMethod("StartsWith", "bool", [1, 1], (text, part) => text.startsWith(part()))],
  ["EndsWith", textMethod("EndsWith", "bool", [1, 1], (text, part) => text.endsWith(part()))],
  ["IndexOf", { kind: "int", takes: [1, 1], call: indexOf }],
  ["ToUpper", caseMethod("ToUpper", upperCase)],
  ["ToLower", caseMethod("ToLower", lowerCase)],
  ["ToUpperInvariant", caseMethod("ToUpperInvariant", upperCase)],
  ["ToLowerInvariant", caseMethod("ToLowerInvariant", lowerCase)],
  ["Trim", textMethod("Trim", "text", [0, 0], (text) => text.trim())],
  ["TrimStart", textMethod("TrimStart", "text", [0, 0], (text) => text.trimStart())],
  ["TrimEnd", textMethod("TrimEnd", "text", [0, 0], (text) => text.trimEnd())],
  ["Substring", { kind: "text", takes: [1, 2], call: substring }],
  ["Replace", { kind: "text", takes: [2, 2], call: replace }],
  ["Split", { kind: "any", takes: [1, 1], call: split }],
]);

function asDouble(run: Evaluation, value: unknown): number {
  if (!isNumber(value)) throw wrongJson(run, "a number", value);
  payForDigits(run, value);
  return Number(value);
}

function asInt32(run: Evaluation, value: unknown): number {
  const number = asDouble(run, value);
  if (isInt32(number)) return number;
  throw run.failure(
    `AsInt32() needs a 32-bit integer: ${run.subject} is ${describe(value)}. Use AsDouble().`,
  );
}

function asBoolean(run: Evaluation, value: unknown): boolean {
  const found = booleanFrom(value);
  if (found === undefined) throw wrongJson(run, "a boolean", value);
  return found;
}

function asArrayLength(run: Evaluation, value: unknown): number {
  if (Array.isArray(value)) return value.length;
  throw wrongJson(run, "an array", value);
}

function contains(run: Evaluation, value: unknown, [wanted]: readonly unknown[]): boolean {
  if (!Array.isArray(value)) return search(run, "Contains", value, wanted) !== -1;
  run.spend(workPerItem * value.length);
  return value.some((item) => equals(run, item, wanted));
}

function indexOf(run: Evaluation, value: unknown, [part]: readonly unknown[]): number {
  return search(run, "IndexOf", value, part);
}

function search(run: Evaluation, method: string, value: unknown, part: unknown): number {
  const text = textReceiver(run, method, value);
  const wanted = textArgument(run, method, part);
  payForSearch(run, text, wanted);
  return text.indexOf(wanted);
}

/**
 * Node skips ahead by at most 250 characters of what it looks for. Beyond that a hostile pair of
 * texts costs the product of their lengths: half a megabyte in a megabyte took 155 s.
 */
function payForSearch(run: Evaluation, text: string, wanted: string): void {
  if (wanted.length <= 250) return;
  run.spend(Math.max(0, text.length - wanted.length) * Math.ceil(wanted.length / 32));
}

function substring(run: Evaluation, value: unknown, args: readonly unknown[]): string {
  const text = textReceiver(run, "Substring", value);
  const [start, length] = args.map((arg) => Number(isNumber(arg) ? arg : Number.NaN));
  const end = length === undefined ? text.length : start! + length;
  const fits =
    isInt32(start!) && isInt32(end) && start! >= 0 && start! <= end && end <= text.length;
  if (!fits) {
    throw run.failure(
      `Substring(${args.map((arg) => describe(arg)).join(", ")}) does not lie within a text of ${text.length} characters.`,
    );
  }
  return text.slice(start, end);
}

function replace(run: Evaluation, value: unknown, args: readonly unknown[]): string {
  const text = textReceiver(run, "Replace", value);
  const [from = "", to = ""] = args.map((arg, i) =>
    i === 1 && arg === null ? "" : textArgument(run, "Replace", arg),
  );
  if (from === "") throw run.failure("Replace() needs something to replace: the text is empty.");
  payForSearch(run, text, from);
  const parts = text.split(from);
  run.spend(workPerItem * parts.length);
  // Before it is made: a short pattern and a long replacement multiply.
  if (text.length + (parts.length - 1) * (to.length - from.length) > maxTextLength) {
    throw run.failure(`Replace() makes a text longer than ${maxTextLength} characters.`);
  }
  return run.text(parts.join(to));
}

function split(run: Evaluation, value: unknown, [separator]: readonly unknown[]): string[] {
  const text = textReceiver(run, "Split", value);
  const by = textArgument(run, "Split", separator);
  payForSearch(run, text, by);
  const parts = by === "" ? [text] : text.split(by);
  run.spend(workPerItem * parts.length);
  return parts;
}

/** A method of texts with at most one argument, a text as well. */
function textMethod(
  name: string,
  kind: Kind,
  takes: readonly [number, number],
  compute: (text: string, argument: () => string) => unknown,
): Method {
  return {
    kind,
    takes,
    call: (run, receiver, [argument]) =>
      compute(textReceiver(run, name, receiver), () => textArgument(run, name, argument)),
  };
}

function caseMethod(name: string, change: (text: string) => string): Method {
  return {
    kind: "text",
    takes: [0, 0],
    call(run, receiver) {
      const text = textReceiver(run, name, receiver);
      run.spend(10 * strangeLetters(text));
      return change(text);
    },
  };
}

function textReceiver(run: Evaluation, method: string, value: unknown): string {
  if (typeof value !== "string") {
    throw run.failure(`${method}() needs a text: ${run.subject} is ${describe(value)}.`);
  }
  run.spend(value.length);
  return run.fitting(value);
}

function textArgument(run: Evaluation, method: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw run.failure(`${method}() takes a text, not ${describe(value)}.`);
}

/** The first sentence is the public system's own. */
const wrongJson = (run: Evaluation, wanted: string, value: unknown): Error =>
  run.failure(`JSON value is not ${wanted}. ${run.subject} is ${describe(value)}.`);
