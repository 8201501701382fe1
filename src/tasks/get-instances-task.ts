/** Task type 15: a page of instances. */
import { isPresent } from "../engine/definition/json.ts";
import { type JsonValue, stringifyJson } from "../engine/exact-json.ts";
import { callFlow, leavesDomain } from "./flow-call.ts";
import type { MappedTaskType, TaskConfig } from "./task-type.ts";

const name = "GetInstances";

export const getInstancesTask: MappedTaskType = {
  code: "15",
  name,
  stamp: "getinstances",
  isEffectful: leavesDomain,
  async invoke(ports, call) {
    const query = queryOf(call.config);
    return callFlow(ports, call, { name }, (flow) => ports.flows.listInstances({ ...flow, query }));
  },
};

function queryOf({ page, pageSize, sort, filter }: TaskConfig): Record<string, string> {
  const given = {
    page: positive(page),
    pageSize: positive(pageSize),
    sort: sortIn(sort),
    filter: filterIn(filter),
  };
  const texts = Object.entries(given).flatMap(([member, value]): [string, string][] => {
    const text = isPresent(value) ? asQueryText(value as JsonValue) : "";
    return text === "" ? [] : [[member, text]];
  });
  return Object.fromEntries(texts);
}

/** Nothing and less than nothing mean the default, as the setters have it. */
const positive = (value: unknown): unknown =>
  typeof value === "number" && value <= 0 ? undefined : value;

/** `-CreatedAt`, which public packages write, is the short form of the list's own language. */
function sortIn(sort: unknown): unknown {
  const short = typeof sort === "string" ? /^(-?)([\w.]+)$/.exec(sort.trim()) : null;
  if (short === null) return sort;
  return { field: short[2]!, direction: short[1] === "-" ? "desc" : "asc" };
}

/** A text, a list whose first item is the filter, or the filter itself. */
const filterIn = (filter: unknown): unknown =>
  Array.isArray(filter) ? filter.find((item) => isPresent(item) && item !== "") : filter;

const asQueryText = (value: JsonValue): string =>
  typeof value === "string" ? value.trim() : stringifyJson(value);
