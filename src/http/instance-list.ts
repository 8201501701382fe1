/** The instance list: the query's text in, `{ links, items }` out. */
import { Type } from "./schema.ts";
import {
  maxPage,
  maxPageSize,
  parseInstanceQuery,
  type InstanceQuery,
} from "../engine/instance-query/instance-query.ts";
import { reasonsByTarget, type QueryRefusalCode } from "../engine/instance-query/reasons.ts";
import type { Problem, ProblemExtras } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";
import type { ListOutcome } from "../runtime/list-instances.ts";
import { instanceJson, instanceOutput } from "./instance-output.ts";
import { parseQueryAsSent, type Query } from "./query-string.ts";

export const InstanceListQuery = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: maxPage, default: 1 })),
  pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: maxPageSize, default: 10 })),
  filter: Type.Optional(
    Type.String({ description: '`{"attributes":{"amount":{"gt":100}}}` or `status=eq:A`' }),
  ),
  sort: Type.Optional(Type.String({ description: '`{"field":"createdAt","direction":"desc"}`' })),
  orderBy: Type.Optional(Type.String({ description: "the same as `sort`, and wins over it" })),
  groupBy: Type.Optional(Type.String({ description: '`{"field":"attributes.city"}`' })),
  aggregations: Type.Optional(
    Type.String({ description: '`{"count":true,"sum":"attributes.amount"}`, with `groupBy`' }),
  ),
  extensions: Type.Optional(Type.String({ description: "no effect: lists have no extensions" })),
  version: Type.Optional(Type.String({ description: "no effect: lists show the latest data" })),
});

/** Groups instead of instances when `groupBy` asks for them. */
export const InstanceListOutput = Type.Object({
  links: Type.Object({
    self: Type.String(),
    first: Type.String(),
    next: Type.String({ description: "empty on the last page" }),
    prev: Type.String({ description: "empty on the first page" }),
  }),
  items: Type.Array(
    Type.Union([
      Type.Ref("GetInstanceOutput"),
      Type.Object({
        name: Type.String(),
        keys: Type.Object({}, { additionalProperties: true }),
        count: Type.Optional(Type.Integer()),
        sum: Type.Optional(Type.Number()),
        avg: Type.Optional(Type.Number()),
        min: Type.Optional(Type.Number()),
        max: Type.Optional(Type.Number()),
      }),
    ]),
  ),
});

const parameterNames = Object.keys(InstanceListQuery.properties);
const foldedNames = new Set(parameterNames.map((name) => name.toLowerCase()));

/** `query` has its names in lower case. Whatever cannot be understood is refused, never left out. */
export function readListQuery(query: Query): InstanceQuery {
  const unknown = Object.keys(query).filter((name) => !foldedNames.has(name));
  if (unknown.length > 0) {
    // A misspelt `filter` that is ignored would answer with everything.
    const message = `is not a parameter of this list; use ${parameterNames.join(", ")}`;
    const errors = Object.fromEntries(unknown.map((name) => [name, [message]]));
    throw problems.requestInvalid({ part: "query", count: unknown.length }, { errors });
  }
  const parsed = parseInstanceQuery({
    filter: query["filter"],
    sort: query["sort"],
    orderBy: query["orderby"],
    groupBy: query["groupby"],
    aggregations: query["aggregations"],
    page: query["page"],
    pageSize: query["pagesize"],
  });
  if ("query" in parsed) return parsed.query;
  const errors = reasonsByTarget(parsed.reasons);
  throw refusals[parsed.code]({ errors }, parsed.reasons.length);
}

const refusals: Record<QueryRefusalCode, (extras: ProblemExtras, count: number) => Problem> = {
  "Validation:900011": (extras) => problems.filterInvalid({}, extras),
  "Validation:900012": (extras) => problems.sortInvalid({}, extras),
  "Validation:900013": (extras) => problems.groupByInvalid({}, extras),
  "Validation:900014": (extras) => problems.aggregationsInvalid({}, extras),
  "ModelValidation:Failed": (extras, count) =>
    problems.requestInvalid({ part: "query", count }, extras),
};

/** `url` is the request's own, for the parameters that links repeat. */
export function listJson(
  wanted: { domain: string; workflow: string; url: string },
  query: InstanceQuery,
  list: ListOutcome,
): string {
  const link = createLink(wanted, query.pageSize);
  // All groups come in one answer.
  const isPaged = list.kind === "page";
  const links = {
    self: link(query.page),
    first: link(1),
    next: isPaged && list.hasNext && query.page < maxPage ? link(query.page + 1) : "",
    prev: isPaged && query.page > 1 ? link(query.page - 1) : "",
  };
  const items =
    list.kind === "page"
      ? list.instances.map((item) => instanceJson(instanceOutput(item, item.dataText)))
      : list.groups;
  return `{"links":${JSON.stringify(links)},"items":[${items.join(",")}]}`;
}

function createLink(
  wanted: { domain: string; workflow: string; url: string },
  pageSize: number,
): (page: number) => string {
  const { domain, workflow, url } = wanted;
  const path = `/api/v1/${encodeURIComponent(domain)}/workflows/${encodeURIComponent(workflow)}/instances`;
  const question = url.indexOf("?");
  const sent = Object.entries(parseQueryAsSent(question === -1 ? "" : url.slice(question + 1)));
  const rest = sent
    .filter(([name]) => !["page", "pagesize"].includes(name.toLowerCase()))
    .flatMap(([name, values]) => [values].flat().map((value) => [name, value] as const))
    .map(([name, value]) => `&${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join("");
  return (page) => `${path}?page=${page}&pageSize=${pageSize}${rest}`;
}
