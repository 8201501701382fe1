/**
 * Values of an expression: null, booleans, numbers, texts, and JSON arrays and objects.
 *
 * What is not there is null, never an error: a member that is missing, an index outside the array,
 * a member of null or of a number. Names are compared without regard to letter case; the name as
 * written comes first. Only own members count, so `__proto__` and `constructor` are data like any
 * other.
 */
import { isJsonObject, stringifyJson, type JsonObject } from "../../../engine/exact-json.ts";
import { workPerName, type Evaluation } from "./evaluation.ts";
import { compareNumbers, isNumber } from "./numbers.ts";

export function memberOf(run: Evaluation, value: unknown, name: string): unknown {
  if (Array.isArray(value)) return isSizeName(name, true) ? value.length : null;
  if (typeof value === "string") return isSizeName(name, false) ? value.length : null;
  return isJsonObject(value) ? objectMember(run, value, name) : null;
}

function isSizeName(name: string, countToo: boolean): boolean {
  const lower = name.toLowerCase();
  return lower === "length" || (countToo && lower === "count");
}

function objectMember(run: Evaluation, object: JsonObject, name: string): unknown {
  if (Object.hasOwn(object, name)) return jsonOrNull(object[name]);
  const names = Object.keys(object);
  run.spend(workPerName * names.length);
  const lower = name.toLowerCase();
  for (const candidate of names) {
    if (candidate.length !== name.length) continue;
    run.spend(candidate.length);
    if (candidate.toLowerCase() === lower) return jsonOrNull(object[candidate]);
  }
  return null;
}

/** JSON has no functions; should a caller's object have one, an expression does not see it. */
export const jsonOrNull = (value: unknown): unknown =>
  value === undefined || typeof value === "function" ? null : value;

export function elementOf(run: Evaluation, value: unknown, index: unknown): unknown {
  if (typeof index === "string") return memberOf(run, value, index);
  if (!isNumber(index) || !Number.isInteger(Number(index))) {
    throw run.failure(`An index is a name or a whole number, not ${describe(index)}.`);
  }
  if (!Array.isArray(value) && typeof value !== "string") return null;
  return jsonOrNull((value as ArrayLike<unknown>)[Number(index)]);
}

/**
 * A number never equals its spelling (5 is not "5"). Arrays and objects equal themselves only, as
 * C# objects do.
 */
export function equals(run: Evaluation, a: unknown, b: unknown): boolean {
  if (typeof a === "number" && typeof b === "number") return a === b;
  if (isNumber(a) && isNumber(b)) {
    payForDigits(run, a, b);
    return compareNumbers(a, b) === 0;
  }
  if (typeof a === "string" && typeof b === "string" && a.length === b.length) run.spend(a.length);
  return a === b;
}

/** An exact number may have as many digits as a body holds. */
export function payForDigits(run: Evaluation, ...values: unknown[]): void {
  for (const value of values) {
    if (isNumber(value) && typeof value !== "number") run.spend(value.text.length);
  }
}

/** Texts as they are, null as nothing, everything else as JSON. */
export function textOf(run: Evaluation, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "object" && value !== null ? run.text(stringifyJson(value)) : "";
}

/** For messages: what kind of value, and the beginning of a short one. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "string") return `the text ${JSON.stringify(excerpt(value))}`;
  if (isNumber(value)) return `the number ${excerpt(String(value))}`;
  if (typeof value === "boolean") return String(value);
  return Array.isArray(value) ? `an array of ${value.length}` : "an object";
}

export const excerpt = (text: string, length = 40): string =>
  text.length <= length ? text : `${text.slice(0, length)}…`;
