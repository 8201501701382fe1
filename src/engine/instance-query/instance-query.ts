/** A list of instances as the caller asked for it: from raw query parameters to one typed question. */
import type { FilterNode } from "./filter.ts";
import { maxFilterLength, parseFilterNode } from "./parse-filter.ts";
import { defaultAggregations, parseAggregations, parseGroupBy } from "./parse-grouping.ts";
import type { Grouping } from "./parse-grouping.ts";
import { isLegacyFilter, parseLegacyFilter } from "./parse-legacy-filter.ts";
import { parseSort, parseSortJson, type SortField } from "./parse-sort.ts";
import { isObject, readJson, type Json, type JsonObject } from "./read-json.ts";
import { Reasons, refusalCode, shown } from "./reasons.ts";
import type { QueryFamily, QueryReason, QueryRefusalCode } from "./reasons.ts";

export interface InstanceQuery {
  readonly filter: FilterNode | undefined;
  /** Empty means the default order: newest first. */
  readonly sort: readonly SortField[];
  readonly grouping: Grouping | undefined;
  readonly page: number;
  readonly pageSize: number;
}

/** As they stand in the query string; a parameter given more than once is an array. */
export type RawParameter = string | readonly string[] | undefined;
export interface RawInstanceQuery {
  readonly filter?: RawParameter;
  readonly sort?: RawParameter;
  readonly orderBy?: RawParameter;
  readonly groupBy?: RawParameter;
  readonly aggregations?: RawParameter;
  readonly page?: RawParameter | number;
  readonly pageSize?: RawParameter | number;
}

export type ParsedInstanceQuery =
  | { readonly query: InstanceQuery }
  | { readonly code: QueryRefusalCode; readonly reasons: readonly QueryReason[] };

export const maxPage = 1000;
export const maxPageSize = 100;
/** Tasks that read their own domain are trusted with more, as public packages expect. */
export const maxPageSizeOfTasks = 1000;
const defaultPageSize = 10;
const maxGroupingLength = 5000;

/** What `filter`, `sort` and the rest ask for together, gathered from parameters and envelope. */
interface Parts {
  filter: FilterNode | undefined;
  sort: readonly SortField[];
  grouping: Grouping | undefined;
}

export function parseInstanceQuery(
  raw: RawInstanceQuery,
  mostOnPage = maxPageSize,
): ParsedInstanceQuery {
  const reasons = new Reasons();
  const filter = single(raw.filter, "filter", "filter", reasons);
  const orderBy = single(raw.orderBy, "orderBy", "sort", reasons);
  const sort = single(raw.sort, "sort", "sort", reasons);
  const groupBy = single(raw.groupBy, "groupBy", "groupBy", reasons);
  const aggregations = single(raw.aggregations, "aggregations", "aggregations", reasons);
  const grouped = groupBy !== undefined || aggregations !== undefined;
  const sorted = orderBy !== undefined || sort !== undefined;

  const parts: Parts = { filter: undefined, sort: [], grouping: undefined };
  if (filter !== undefined) readFilter(filter, { grouped, sorted }, parts, reasons);
  // Wire contract §5.3: `orderBy` wins over `sort`.
  if (orderBy !== undefined) parts.sort = parseSort(orderBy, "orderBy", reasons);
  else if (sort !== undefined) parts.sort = parseSort(sort, "sort", reasons);
  if (grouped) {
    const given = {
      groupBy: readParameter(groupBy, "groupBy", reasons),
      aggregations: readParameter(aggregations, "aggregations", reasons),
      prefix: "",
    };
    parts.grouping = readGrouping(given, reasons);
  }
  const page = wholeNumber(raw.page, "page", 1, maxPage, reasons);
  const pageSize = wholeNumber(raw.pageSize, "pageSize", defaultPageSize, mostOnPage, reasons);

  return reasons.list.length > 0
    ? { code: refusalCode(reasons.list), reasons: reasons.list }
    : { query: { ...parts, page, pageSize } };
}

function readFilter(
  text: string,
  given: { grouped: boolean; sorted: boolean },
  parts: Parts,
  reasons: Reasons,
): void {
  if (text.length > maxFilterLength) {
    const message = `A filter may have at most ${maxFilterLength} characters; this one has ${text.length}.`;
    reasons.add("filter.tooLong", "filter", message);
    return;
  }
  const trimmed = text.trim();
  if (!(trimmed.startsWith("{") && trimmed.endsWith("}"))) {
    readLegacy(text.trimStart(), given.grouped, parts, reasons);
    return;
  }
  const json = readJson(trimmed);
  if ("error" in json) {
    reasons.add("filter.invalidJson", "filter", `The filter is not valid JSON: ${json.error}.`);
  } else if (isEnvelope(json.value)) {
    readEnvelope(json.value, given, parts, reasons);
  } else {
    parts.filter = parseFilterNode(json.value, reasons);
  }
}

function readLegacy(text: string, grouped: boolean, parts: Parts, reasons: Reasons): void {
  if (!isLegacyFilter(text)) {
    reasons.add(
      "filter.unrecognizedFormat",
      "filter",
      "The filter is neither JSON nor 'field=operator:value'. Check for a missing brace.",
    );
    return;
  }
  // Wire contract §5.4: the legacy form does not go together with grouping.
  if (grouped) {
    const message = "Write the filter as JSON to combine it with groupBy or aggregations.";
    reasons.add("filter.legacyNotAggregatable", "filter", message);
    return;
  }
  parts.filter = parseLegacyFilter(text, reasons);
}

const envelopeMembers = ["filter", "groupby", "aggregations", "orderby"];

/** The whole question in `filter`; recognised by `groupBy` or `aggregations`, null counting too. */
const isEnvelope = (json: Json): json is JsonObject =>
  isObject(json) &&
  [...json.keys()].some((name) => ["groupby", "aggregations"].includes(name.toLowerCase()));

function readEnvelope(
  json: JsonObject,
  given: { grouped: boolean; sorted: boolean },
  parts: Parts,
  reasons: Reasons,
): void {
  const members: JsonObject = new Map();
  for (const [name, value] of json) {
    const known = name.toLowerCase();
    if (!envelopeMembers.includes(known) || members.has(known)) {
      const message = `'${shown(name)}' is not expected beside groupBy or aggregations. Use filter, groupBy, aggregations and orderBy, each once.`;
      reasons.add("filter.unknownProperty", `filter.${shown(name)}`, message);
    } else if (value !== null) members.set(known, value);
  }
  const orderBy = members.get("orderby");
  if (given.grouped || (given.sorted && orderBy !== undefined)) {
    const message =
      "The filter carries grouping or order, and so do other query parameters. Give each in one place.";
    reasons.add("filter.ambiguousEnvelope", "filter", message);
    return;
  }
  const node = members.get("filter");
  if (node !== undefined) {
    parts.filter = parseFilterNode(node, reasons, { target: "filter.filter", depth: 0 });
  }
  if (orderBy !== undefined) parts.sort = parseSortJson(orderBy, "filter.orderBy", reasons);
  const groupBy = members.get("groupby");
  const aggregations = members.get("aggregations");
  parts.grouping = readGrouping({ groupBy, aggregations, prefix: "filter." }, reasons);
}

function readGrouping(
  given: { groupBy: Json | undefined; aggregations: Json | undefined; prefix: string },
  reasons: Reasons,
): Grouping | undefined {
  const { groupBy, aggregations, prefix } = given;
  const group =
    groupBy === undefined ? undefined : parseGroupBy(groupBy, `${prefix}groupBy`, reasons);
  const apart =
    aggregations === undefined
      ? undefined
      : parseAggregations(aggregations, `${prefix}aggregations`, reasons);
  // Wire contract §5.6: without groupBy, aggregations have no effect: the plain list is answered.
  if (group === undefined) return undefined;
  if (group.aggregations !== undefined && apart !== undefined) {
    const message = "Aggregations are given inside groupBy and beside it. Give them in one place.";
    reasons.add("aggregations.ambiguous", `${prefix}aggregations`, message);
  }
  return {
    fields: group.fields,
    aggregations: group.aggregations ?? apart ?? defaultAggregations,
  };
}

/** A parameter's one value; blank counts as absent. */
function single(raw: RawParameter, name: string, family: QueryFamily, reasons: Reasons) {
  const values = typeof raw === "string" ? [raw] : (raw ?? []);
  if (values.length > 1) {
    reasons.add(`${family}.repeated`, name, `'${name}' may be given only once.`);
    return undefined;
  }
  return values[0]?.trim() === "" ? undefined : values[0];
}

function readParameter(
  text: string | undefined,
  name: "groupBy" | "aggregations",
  reasons: Reasons,
): Json | undefined {
  if (text === undefined) return undefined;
  if (text.length > maxGroupingLength) {
    const message = `'${name}' may have at most ${maxGroupingLength} characters.`;
    reasons.add(`${name}.tooLong`, name, message);
    return undefined;
  }
  const json = readJson(text);
  if ("value" in json) return json.value;
  reasons.add(`${name}.invalidJson`, name, `'${name}' is not valid JSON: ${json.error}.`);
  return undefined;
}

function wholeNumber(
  raw: RawParameter | number,
  name: "page" | "pageSize",
  fallback: number,
  max: number,
  reasons: Reasons,
): number {
  if (raw === undefined) return fallback;
  const text =
    typeof raw === "number" ? String(raw) : typeof raw === "string" ? raw : raw.join(",");
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= max) return value;
  const message = `'${name}' must be a whole number from 1 to ${max}, not '${shown(text)}'.`;
  reasons.add(`${name}.invalid`, name, message);
  return fallback;
}
