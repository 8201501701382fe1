/** The statement that groups instances of one flow and sums them up (wire contract §5.6). */
import {
  columns,
  stateSubTypeNumbers,
  stateTypeNumbers,
} from "../../engine/instance-query/columns.ts";
import type { Column, ColumnKind } from "../../engine/instance-query/columns.ts";
import type { Field } from "../../engine/instance-query/field.ts";
import type { InstanceQuery } from "../../engine/instance-query/instance-query.ts";
import type { Aggregation, Grouping } from "../../engine/instance-query/parse-grouping.ts";
import { columnSql, dataNumber, fieldValue, SqlValues } from "./instance-filter-sql.ts";
import { tableOf, whereSql, type ListScope, type SqlStatement } from "./instance-list-sql.ts";

/** All groups come in one answer, so there is a limit; the statement gives one more to tell. */
export const maxGroups = 1000;

/** Numbers are text, so that no digit is lost; a function that found nothing to work on is null. */
export interface InstanceGroupRow {
  readonly name: string;
  /** JSON object: the value of each group field, null where instances have none. */
  readonly keys: string;
  readonly count?: string | null;
  readonly sum?: string | null;
  readonly avg?: string | null;
  readonly min?: string | null;
  readonly max?: string | null;
}

export function instanceGroupsSql(
  query: InstanceQuery,
  grouping: Grouping,
  scope: ListScope,
): SqlStatement {
  const values = new SqlValues();
  const where = whereSql(query, scope, values);
  const groups = grouping.fields.map(({ name, field }, index) => ({
    column: `g${index + 1}`,
    expression: groupValue(field, values),
    name: values.add(name, "text"),
  }));
  const totals = grouping.aggregations.map((aggregation) => total(aggregation, values));

  const inner = [
    ...groups.map(({ column, expression }) => `${expression} as ${column}`),
    ...totals.flatMap(({ input }) => input),
  ].join(", ");
  const name = groups
    .map(({ column }) => `coalesce(${column} #>> '{}', 'null')`)
    .join(" || ', ' || ");
  const keys = groups.map((group) => `${group.name}, ${group.column}`).join(", ");
  const outer = [
    `${name} as name`,
    `json_build_object(${keys})::text as keys`,
    ...totals.map(({ output }) => output),
  ].join(", ");
  const text =
    `select ${outer} from (select ${inner} from ${tableOf(scope)} i where ${where}) s` +
    ` group by ${groups.map(({ column }) => column).join(", ")}` +
    ` order by ${groups.map(({ column }) => groupOrder(column)).join(", ")} limit ${maxGroups + 1}`;
  return { text, values: values.list };
}

/** A group as it goes out: nulls are omitted there, except in `keys`. */
export function instanceGroupJson(row: InstanceGroupRow): string {
  const members = [`"name":${JSON.stringify(row.name)}`, `"keys":${row.keys}`];
  for (const fn of ["count", "sum", "avg", "min", "max"] as const) {
    const value = row[fn] ?? null;
    if (value !== null) members.push(`"${fn}":${value}`);
  }
  return `{${members.join(",")}}`;
}

/** The value that makes a group, as JSON; a JSON null in the data counts as missing. */
function groupValue(field: Field, values: SqlValues): string {
  if (field.kind === "column") return `to_jsonb(${shownColumn(field.column)})`;
  return `nullif(i.data #> ${values.add(field.path, "text[]")}, 'null'::jsonb)`;
}

/** A column in the words that an instance's own fields use on the wire. */
function shownColumn(column: Column): string {
  const show: Readonly<Partial<Record<ColumnKind, (sql: string) => string>>> = {
    status: (sql) => `${sql}::text`,
    instant: (sql) => `to_char(${sql} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
    stateType: (sql) => wordOf(sql, stateTypeNumbers),
    stateSubType: (sql) => wordOf(sql, stateSubTypeNumbers),
  };
  return show[columns[column]]?.(columnSql[column]) ?? columnSql[column];
}

function wordOf(sql: string, words: Readonly<Record<string, number>>): string {
  const cases = Object.entries(words).map(([word, number]) => `when ${number} then '${word}'`);
  return `case ${sql} ${cases.join(" ")} else ${sql}::text end`;
}

/** As in a sorted list: numbers as numbers, then the rest as text, then groups without a value. */
const groupOrder = (column: string): string =>
  `case when jsonb_typeof(${column}) = 'number' then (${column} #>> '{}')::numeric end nulls last, ` +
  `case when jsonb_typeof(${column}) <> 'number' then ${column} #>> '{}' end collate "C" nulls last`;

function total(aggregation: Aggregation, values: SqlValues): { input: string[]; output: string } {
  const { fn, field } = aggregation;
  if (field === undefined) return { input: [], output: "count(*)::text as count" };
  const input = fn === "count" ? fieldValue(field, values) : numberOf(field, values);
  // An average has sixteen decimals by nature; the zeros among them say nothing.
  const result = fn === "avg" ? `trim_scale(avg(for_avg))` : `${fn}(for_${fn})`;
  return { input: [`${input} as for_${fn}`], output: `${result}::text as ${fn}` };
}

const numberOf = (field: Field, values: SqlValues): string =>
  field.kind === "column"
    ? `${columnSql[field.column]}::numeric`
    : dataNumber(values.add(field.path, "text[]"));
