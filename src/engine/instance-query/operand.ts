/** Turns what a caller wrote beside an operator into the value that is compared. */
import { stateSubTypeNumbers, stateTypeNumbers, statusNames, type ColumnKind } from "./columns.ts";
import type { Bound, ColumnValue, JsonScalarText } from "./filter.ts";
import type { Found } from "./field.ts";
import { readInstant } from "./instant.ts";
import { isNumberText, isObject, NumberText, writeJson, type Json } from "./read-json.ts";

export const maxValueLength = 1000;

/** Beyond this the storage's numbers overflow; no double goes further than 308. */
const maxExponent = 400;

const loneSurrogate = /\p{Surrogate}/u;
const uuidPattern = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** A scalar operand as text: the limits that hold for every operator and field are checked here. */
export function checkScalar(value: Json): { tooLong: true } | { mistake: string } | undefined {
  const text = value instanceof NumberText ? value.text : value;
  if (typeof text === "string") {
    if (text.length > maxValueLength) return { tooLong: true };
    // Such text cannot be stored as JSON, so nothing could ever match it.
    if (text.includes("\u0000") || loneSurrogate.test(text)) {
      return { mistake: "holds a character that no stored text can have (NUL or half of a pair)." };
    }
  }
  if (value instanceof NumberText) return checkNumber(value.text);
  return undefined;
}

function checkNumber(text: string): { mistake: string } | undefined {
  const exponent = /[eE]([+-]?[0-9]+)$/.exec(text)?.[1];
  return exponent !== undefined && Math.abs(Number(exponent)) > maxExponent
    ? { mistake: `has an exponent beyond ${maxExponent}.` }
    : undefined;
}

/** The value in the column's own terms. Numbers and booleans may come as text, as forms send them. */
export function columnValue(kind: ColumnKind, value: Json): Found<ColumnValue> {
  const text = scalarText(value);
  return text === undefined
    ? { mistake: "must be a single value, not null, a list or an object." }
    : readers[kind](text);
}

const listOf = (words: Readonly<Record<string, unknown>>) => Object.keys(words).join(", ");

const readers: Readonly<Record<ColumnKind, (text: string) => Found<ColumnValue>>> = {
  text: (text) => ({ found: text }),
  uuid: (text) =>
    uuidPattern.test(text) ? { found: text.toLowerCase() } : { mistake: "is not a UUID." },
  instant: (text) =>
    foundOr(readInstant(text), "is not an ISO 8601 date or time, such as 2026-01-31T09:30:00Z."),
  status: (text) =>
    foundOr(
      statusCodes.get(text.toLowerCase()),
      `is not a status: ${Object.values(statusNames).join(", ")}, or the first letter.`,
    ),
  stateType: (text) =>
    foundOr(smallNumber(text, stateTypeNumbers), `is not one of ${listOf(stateTypeNumbers)}.`),
  stateSubType: (text) =>
    foundOr(
      smallNumber(text, stateSubTypeNumbers),
      `is not one of ${listOf(stateSubTypeNumbers)}.`,
    ),
  boolean: (text) => foundOr(booleanValue(text), "must be true or false."),
};

const foundOr = <T>(found: T | undefined, mistake: string): Found<T> =>
  found === undefined ? { mistake } : { found };

/** The number of a word, or any small number: a limit of a range need not be one that a state has. */
function smallNumber(text: string, words: Readonly<Record<string, number>>): number | undefined {
  if (/^-?[0-9]{1,4}$/.test(text)) return Number(text);
  return Object.entries(words).find(([word]) => word.toLowerCase() === text.toLowerCase())?.[1];
}

const statusCodes = new Map<string, string>(
  Object.entries(statusNames).flatMap(([code, name]) => [
    [code.toLowerCase(), code],
    [name.toLowerCase(), code],
  ]),
);

/** The text of a scalar, for text columns and for `like` and its siblings. */
export function scalarText(value: Json): string | undefined {
  if (value instanceof NumberText) return value.text;
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" ? value : undefined;
}

export function booleanValue(value: Json): boolean | undefined {
  const word = typeof value === "string" ? value.toLowerCase() : value;
  if (word === true || word === "true") return true;
  return word === false || word === "false" ? false : undefined;
}

/**
 * The forms a data value may have to equal the operand. JSON says its type; text of the legacy form
 * and of comma lists does not, so `122` there finds both 122 and "122".
 */
export function equalForms(value: Json, typed: boolean): Found<readonly JsonScalarText[]> {
  if (value === null) return { mistake: "is null. Use 'isNull' to ask for missing values." };
  if (Array.isArray(value) || isObject(value)) return { mistake: "must be a single value." };
  const forms = [writeJson(value)];
  if (!typed && typeof value === "string") {
    if (isNumberText(value) && checkNumber(value) === undefined) forms.push(value);
    if (/^(?:true|false)$/i.test(value)) forms.push(value.toLowerCase());
  }
  return { found: forms };
}

/** What `gt`, `ge`, `lt`, `le` and `between` can compare in data: a number or an instant. */
export function bound(value: Json): Found<Bound> {
  const text = scalarText(value);
  if (text !== undefined && typeof value !== "boolean") {
    if (isNumberText(text)) return checkNumber(text) ?? { found: { kind: "number", text } };
    const instant = readInstant(text);
    if (instant !== undefined) return { found: { kind: "instant", text: instant } };
  }
  return { mistake: "must be a number or an ISO 8601 date or time." };
}

/** Checks the partial object of `includes`, all the way down. */
export function checkIncludes(value: Json): { tooLong: true } | { mistake: string } | undefined {
  if (Array.isArray(value)) return firstOf(value, checkIncludes);
  if (!isObject(value)) return checkScalar(value);
  return firstOf([...value], ([name, member]) => checkScalar(name) ?? checkIncludes(member));
}

/** A comma list, as the legacy form and form-driven clients write it. */
export const commaList = (text: string): string[] => text.split(",").map((part) => part.trim());

function firstOf<T, R>(items: readonly T[], check: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const result = check(item);
    if (result !== undefined) return result;
  }
  return undefined;
}
