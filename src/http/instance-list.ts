/** What the instance list may be asked, and how its answer stands in the API document. */
import { Type } from "./schema.ts";
import {
  maxPage,
  maxPageSize,
  type InstanceQuery,
} from "../engine/instance-query/instance-query.ts";
import { problems } from "../engine/problems.ts";
import { parseListQuery } from "../runtime/list-output.ts";
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
  return parseListQuery({
    filter: query["filter"],
    sort: query["sort"],
    orderBy: query["orderby"],
    groupBy: query["groupby"],
    aggregations: query["aggregations"],
    page: query["page"],
    pageSize: query["pagesize"],
  });
}

/** What the request says beside the page: links repeat it. */
export function sentBeside(url: string): [name: string, value: string][] {
  const question = url.indexOf("?");
  const sent = Object.entries(parseQueryAsSent(question === -1 ? "" : url.slice(question + 1)));
  return sent
    .filter(([name]) => !["page", "pagesize"].includes(name.toLowerCase()))
    .flatMap(([name, values]) => [values].flat().map((value): [string, string] => [name, value]));
}
