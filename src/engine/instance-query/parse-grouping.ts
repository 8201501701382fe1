/** Reads `groupBy` and `aggregations` (wire contract §5.6). */
import { columns } from "./columns.ts";
import { readField, type Field } from "./field.ts";
import { isObject, type Json, type JsonObject } from "./read-json.ts";
import { shown, type Reasons } from "./reasons.ts";

export interface Grouping {
  readonly fields: readonly GroupField[];
  readonly aggregations: readonly Aggregation[];
}

export interface GroupField {
  /** The name of the field in a group's `keys`. */
  readonly name: string;
  readonly field: Field;
}

export type Aggregation =
  /** Without a field: rows. With one: rows where the field has a value. */
  | { readonly fn: "count"; readonly field?: Field }
  | { readonly fn: "sum" | "avg" | "min" | "max"; readonly field: Field };

const maxGroupFields = 10;
const functions = ["count", "sum", "avg", "min", "max"] as const;

/** Rows are counted when nothing else is asked for. */
export const defaultAggregations: readonly Aggregation[] = [{ fn: "count" }];

export function parseGroupBy(
  json: Json,
  target: string,
  reasons: Reasons,
): { fields: readonly GroupField[]; aggregations: readonly Aggregation[] | undefined } | undefined {
  if (!isObject(json)) {
    reasons.add("groupBy.invalidJson", target, 'groupBy must be an object: {"field":"status"}.');
    return undefined;
  }
  const members: JsonObject = new Map();
  for (const [name, value] of json) {
    const known = name.toLowerCase();
    if (!["field", "fields", "aggregations"].includes(known) || members.has(known)) {
      const message = `'${shown(name)}' is not expected here. Use field or fields, and aggregations.`;
      reasons.add("groupBy.invalidJson", `${target}.${shown(name)}`, message);
      return undefined;
    }
    if (value !== null) members.set(known, value);
  }
  const nested = members.get("aggregations");
  return {
    fields: parseGroupFields(members, target, reasons),
    aggregations:
      nested === undefined
        ? undefined
        : parseAggregations(nested, `${target}.aggregations`, reasons),
  };
}

function parseGroupFields(members: JsonObject, target: string, reasons: Reasons): GroupField[] {
  const single = members.get("field");
  const list = members.get("fields");
  if (single !== undefined && list !== undefined) {
    reasons.add("groupBy.invalidJson", target, "Give either 'field' or 'fields', not both.");
    return [];
  }
  if (list !== undefined && !Array.isArray(list)) {
    reasons.add("groupBy.invalidJson", `${target}.fields`, "'fields' must be a list of names.");
    return [];
  }
  const names = list ?? (single === undefined ? [] : [single]);
  if (names.length === 0) {
    reasons.add("groupBy.noFields", target, "groupBy requires at least one field.");
  }
  if (names.length > maxGroupFields) {
    const message = `At most ${maxGroupFields} fields can be grouped by.`;
    reasons.add("groupBy.tooManyFields", `${target}.fields`, message);
    return [];
  }
  return names.flatMap((name, index) => {
    const at = list === undefined ? `${target}.field` : `${target}.fields[${index}]`;
    const field = namedField(name);
    if (typeof field === "string") {
      reasons.add("groupBy.invalidField", at, field);
      return [];
    }
    return [{ name: keyName(name as string, field), field }];
  });
}

export function parseAggregations(
  json: Json,
  target: string,
  reasons: Reasons,
): readonly Aggregation[] | undefined {
  if (!isObject(json)) {
    reasons.add(
      "aggregations.invalidJson",
      target,
      'Aggregations must be an object: {"count":true}.',
    );
    return undefined;
  }
  const found: Aggregation[] = [];
  const seen = new Set<string>();
  const before = reasons.list.length;
  for (const [name, value] of json) {
    const fn = functions.find((candidate) => candidate === name.toLowerCase());
    const at = `${target}.${shown(name)}`;
    if (fn === undefined || seen.has(fn)) {
      const message = `'${shown(name)}' is not expected here. Use ${functions.join(", ")}, each once.`;
      reasons.add("aggregations.invalidJson", at, message);
      continue;
    }
    seen.add(fn);
    const aggregation = value === null ? undefined : parseAggregation(fn, value, at, reasons);
    if (aggregation !== undefined) found.push(aggregation);
  }
  if (found.length === 0 && reasons.list.length === before) {
    const message = `Aggregations request no function. Use ${functions.join(", ")}.`;
    reasons.add("aggregations.empty", target, message);
  }
  return found;
}

function parseAggregation(
  fn: (typeof functions)[number],
  value: Json,
  target: string,
  reasons: Reasons,
): Aggregation | undefined {
  if (fn === "count") return parseCount(value, target, reasons);
  const field = namedField(value);
  if (typeof field === "string") {
    reasons.add("aggregations.invalidField", target, field);
    return undefined;
  }
  if (field.kind === "column" && !numericKinds.has(columns[field.column])) {
    const message = `'${fn}' works on numbers, and column '${field.column}' holds none.`;
    reasons.add("aggregations.invalidField", target, message);
    return undefined;
  }
  return { fn, field };
}

const numericKinds = new Set<string>(["stateType", "stateSubType"]);

function parseCount(value: Json, target: string, reasons: Reasons): Aggregation | undefined {
  if (value === true) return { fn: "count" };
  if (value === false) return undefined;
  const field = namedField(value);
  if (typeof field === "string") {
    reasons.add("aggregations.invalidCount", target, `'count' is true, false or a field. ${field}`);
    return undefined;
  }
  return { fn: "count", field };
}

/** The field, or the sentence that says why it is none. */
function namedField(json: Json): Field | string {
  if (typeof json !== "string") return "A field name must be text.";
  if (json.trim() === "") return "A field name must not be empty.";
  const field = readField(json.trim());
  return "mistake" in field ? field.mistake : field.found;
}

/** Keys keep the words of the request; their first letter is lowered, as in every dictionary on the wire. */
function keyName(requested: string, field: Field): string {
  if (field.kind === "column") return field.column;
  const name = requested.trim();
  return name.charAt(0).toLowerCase() + name.slice(1);
}
