/** Reads `sort` and `orderBy`: `{"field":"createdAt","direction":"desc"}` or `{"fields":[…]}`. */
import { readMarkedField, type Field } from "./field.ts";
import { isObject, readJson, type Json, type JsonObject } from "./read-json.ts";
import { shown, type Reasons } from "./reasons.ts";

export interface SortField {
  readonly field: Field;
  readonly descending: boolean;
}

export const maxSortLength = 5000;
const maxSortFields = 10;

/** Reads the parameter's text; `target` is the name of the parameter. */
export function parseSort(text: string, target: string, reasons: Reasons): readonly SortField[] {
  if (text.length > maxSortLength) {
    reasons.add("sort.tooLong", target, `A sort may have at most ${maxSortLength} characters.`);
    return [];
  }
  const json = readJson(text);
  if ("error" in json) {
    reasons.add(
      "sort.invalidJson",
      target,
      `Sort is not valid JSON: ${json.error}. Write {"field":"createdAt","direction":"desc"}.`,
    );
    return [];
  }
  return parseSortJson(json.value, target, reasons);
}

export function parseSortJson(json: Json, target: string, reasons: Reasons): readonly SortField[] {
  if (!isObject(json)) {
    reasons.add("sort.invalidJson", target, 'Sort must be an object: {"field":"createdAt"}.');
    return [];
  }
  const known = membersOf(json, ["field", "fields", "direction"], target, reasons);
  if (known === undefined) return [];
  const list = known.get("fields") ?? null;
  if (list === null) return parseEntry(known, target, reasons);
  if ((known.get("field") ?? null) !== null || (known.get("direction") ?? null) !== null) {
    const message = "Give either 'fields' or a single 'field' with its 'direction'.";
    reasons.add("sort.invalidJson", target, message);
    return [];
  }
  if (!Array.isArray(list)) {
    reasons.add("sort.invalidJson", `${target}.fields`, "'fields' must be a list.");
    return [];
  }
  if (list.length === 0) reasons.add("sort.emptyField", target, "Sort names no field.");
  if (list.length > maxSortFields) {
    const message = `At most ${maxSortFields} fields can be sorted by.`;
    reasons.add("sort.tooManyFields", `${target}.fields`, message);
    return [];
  }
  return list.flatMap((entry, index) => {
    const at = `${target}.fields[${index}]`;
    if (!isObject(entry)) {
      reasons.add("sort.invalidJson", at, 'A sort entry must be an object: {"field":"status"}.');
      return [];
    }
    const members = membersOf(entry, ["field", "direction"], at, reasons);
    return members === undefined ? [] : parseEntry(members, at, reasons);
  });
}

/** The members by their known names, in any case; an unknown member refuses the whole. */
function membersOf(json: JsonObject, names: string[], target: string, reasons: Reasons) {
  const members: JsonObject = new Map();
  for (const [name, value] of json) {
    const known = names.find((candidate) => candidate === name.toLowerCase());
    if (known === undefined || members.has(known)) {
      const message = `'${shown(name)}' is not expected here. Use ${names.join(", ")}, each once.`;
      reasons.add("sort.invalidJson", `${target}.${shown(name)}`, message);
      return undefined;
    }
    members.set(known, value);
  }
  return members;
}

function parseEntry(members: JsonObject, target: string, reasons: Reasons): SortField[] {
  const name = members.get("field") ?? null;
  if (name === null || (typeof name === "string" && name.trim() === "")) {
    reasons.add("sort.emptyField", target, 'Sort names no field. Write {"field":"createdAt"}.');
    return [];
  }
  if (typeof name !== "string") {
    reasons.add("sort.invalidJson", `${target}.field`, "'field' must be text.");
    return [];
  }
  const field = readMarkedField(name.trim());
  if ("mistake" in field) {
    const code = field.unknown === true ? "sort.unknownField" : "sort.unsafePath";
    reasons.add(code, `${target}.field`, field.mistake);
  }
  const descending = readDirection(members.get("direction") ?? null);
  if (descending === undefined) {
    const message = "A sort direction is 'asc' or 'desc'.";
    reasons.add("sort.invalidDirection", `${target}.direction`, message);
  }
  return "found" in field && descending !== undefined ? [{ field: field.found, descending }] : [];
}

/** Absent means ascending. */
function readDirection(json: Json): boolean | undefined {
  if (json === null) return false;
  const word = typeof json === "string" ? json.trim().toLowerCase() : "?";
  if (word === "desc") return true;
  return word === "asc" || word === "" ? false : undefined;
}
