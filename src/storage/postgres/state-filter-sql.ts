import { stringifyJson } from "../../engine/exact-json.ts";
import type { StateFilter } from "../state-filter.ts";

/** A condition on the column `value`; the filter's own values go to the end of `values`. */
export function stateFilterSql(filter: StateFilter, values: unknown[]): string {
  const parameter = (value: unknown) => `$${values.push(value)}`;
  if (filter.kind === "in") {
    const member = filter.path.map((name) => ` -> ${parameter(name)}::text`).join("");
    const wanted = parameter(filter.values.map((value) => stringifyJson(value)));
    return `(value${member}) = any(${wanted}::jsonb[])`;
  }
  const parts = filter.filters.map((part) => stateFilterSql(part, values));
  return `(${parts.join(` ${filter.kind} `)})`;
}
