/** The instance list: the query's text in, `{ links, items }` out. */
import {
  maxPage,
  parseInstanceQuery,
  type InstanceQuery,
  type RawInstanceQuery,
} from "../engine/instance-query/instance-query.ts";
import { reasonsByTarget, type QueryRefusalCode } from "../engine/instance-query/reasons.ts";
import type { Problem, ProblemExtras } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";
import { instanceJson, instanceOutput } from "./instance-output.ts";
import type { ListOutcome } from "./list-instances.ts";

/** Whatever cannot be understood is refused, never left out. */
export function parseListQuery(given: RawInstanceQuery, mostOnPage?: number): InstanceQuery {
  const parsed = parseInstanceQuery(given, mostOnPage);
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

/** `others` are the parameters beside the page that links repeat. */
export function listJson(
  wanted: { domain: string; workflow: string },
  query: InstanceQuery,
  list: ListOutcome,
  others: readonly [name: string, value: string][],
): string {
  const link = createLink(wanted, query.pageSize, others);
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
      ? list.instances.map(({ instance, dataText }) =>
          instanceJson(instanceOutput(instance, () => dataText)),
        )
      : list.groups;
  return `{"links":${JSON.stringify(links)},"items":[${items.join(",")}]}`;
}

function createLink(
  { domain, workflow }: { domain: string; workflow: string },
  pageSize: number,
  others: readonly [name: string, value: string][],
): (page: number) => string {
  const path = `/api/v1/${encodeURIComponent(domain)}/workflows/${encodeURIComponent(workflow)}/instances`;
  const rest = others
    .map(([name, value]) => `&${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join("");
  return (page) => `${path}?page=${page}&pageSize=${pageSize}${rest}`;
}
