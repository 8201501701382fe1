/**
 * The filter of a state-store query: EQ and IN compare a member of the value, named by its dotted
 * path, with texts, numbers, booleans or null; AND and OR join filters.
 */
import {
  canonicalText,
  isExactNumber,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../engine/exact-json.ts";

export type StateFilter =
  | { readonly kind: "in"; readonly path: readonly string[]; readonly values: readonly JsonValue[] }
  | { readonly kind: "and" | "or"; readonly filters: readonly StateFilter[] };

export class StateQueryError extends Error {
  override readonly name = "StateQueryError";
}

const deepest = 16;
const mostConditions = 200;
const operators = "EQ, IN, AND and OR";

/** `sort` is of no interest to a delete; `page` would leave some of the matches there. */
export function readStateQuery(query: JsonObject): StateFilter {
  const { filter, sort: _, ...rest } = query;
  const others = Object.keys(rest);
  if (others.length > 0) {
    throw new StateQueryError(
      `The query has '${others.join("', '")}'; a delete takes 'filter' alone and deletes all that matches.`,
    );
  }
  if (!isJsonObject(filter) || Object.keys(filter).length === 0) {
    throw new StateQueryError(
      `The query has no 'filter'; without one it would empty the store. Filter with ${operators}, such as {"filter":{"EQ":{"customer.id":"42"}}}.`,
    );
  }
  return readFilter(filter, { conditions: 0 }, 1);
}

function readFilter(
  filter: JsonValue | undefined,
  count: { conditions: number },
  depth: number,
): StateFilter {
  const [[operator, operand] = ["", null], ...more] = isJsonObject(filter)
    ? Object.entries(filter)
    : [];
  if (operator === "" || more.length > 0) {
    throw new StateQueryError(`Each filter is an object with one of ${operators}.`);
  }
  count.conditions += 1;
  if (depth > deepest || count.conditions > mostConditions) {
    throw new StateQueryError(
      `The filter is too large; ${mostConditions} conditions, ${deepest} levels deep, are allowed.`,
    );
  }
  switch (operator.toUpperCase()) {
    case "EQ": {
      const [path, value] = memberOf(operator, operand);
      return { kind: "in", path, values: scalars(operator, [value]) };
    }
    case "IN": {
      const [path, values] = memberOf(operator, operand);
      if (!Array.isArray(values) || values.length === 0) {
        throw new StateQueryError(
          `IN compares '${path.join(".")}' with a list that is not empty, such as ["a", "b"].`,
        );
      }
      return { kind: "in", path, values: scalars(operator, values) };
    }
    case "AND":
    case "OR": {
      if (!Array.isArray(operand) || operand.length === 0) {
        throw new StateQueryError(`${operator} joins a list of filters that is not empty.`);
      }
      const filters = operand.map((item) => readFilter(item, count, depth + 1));
      return { kind: operator.toUpperCase() === "AND" ? "and" : "or", filters };
    }
    default:
      throw new StateQueryError(`The filter has '${operator}'; known are ${operators}.`);
  }
}

function memberOf(operator: string, operand: JsonValue): [string[], JsonValue] {
  const [[path, value] = ["", null], ...more] = isJsonObject(operand)
    ? Object.entries(operand)
    : [];
  if (path === "" || more.length > 0) {
    throw new StateQueryError(
      `${operator} compares one member, such as {"${operator}":{"customer.id":"42"}}.`,
    );
  }
  return [path.split("."), value];
}

function scalars(operator: string, values: readonly JsonValue[]): readonly JsonValue[] {
  const other = values.find((value) => isJsonObject(value) || Array.isArray(value));
  if (other === undefined) return values;
  throw new StateQueryError(`${operator} compares with texts, numbers, true, false and null only.`);
}

export function matches(filter: StateFilter, value: JsonValue): boolean {
  switch (filter.kind) {
    case "and":
      return filter.filters.every((part) => matches(part, value));
    case "or":
      return filter.filters.some((part) => matches(part, value));
    case "in": {
      const found = memberAt(value, filter.path);
      if (found === undefined) return false;
      return filter.values.some((wanted) => comparable(wanted) === comparable(found));
    }
  }
}

/** Through objects only: an element of a list has no name. */
function memberAt(value: JsonValue, path: readonly string[]): JsonValue | undefined {
  let found: JsonValue | undefined = value;
  for (const name of path) {
    if (!isJsonObject(found) || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return found;
}

/** Numbers by value, whatever their scale: 1.10 is 1.1 here, as it is in the database. */
function comparable(value: JsonValue): string {
  const text = canonicalText(value);
  if (typeof value !== "number" && !isExactNumber(value)) return text;
  const [, sign = "", digits, power = "0"] = /^(-?)(\d*)(?:e(-?\d+))?$/.exec(text) ?? [];
  if (digits === undefined) return text;
  let end = digits.length;
  while (digits.charAt(end - 1) === "0") end -= 1;
  const zeros = digits.length - end;
  return end === 0 ? "0" : `${sign}${digits.slice(0, end)}e${Number(power) + zeros}`;
}
