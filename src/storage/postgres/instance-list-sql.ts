/**
 * The statement that lists instances of one flow. Its indexes are in `0002-instances.sql`.
 */
import type { InstanceQuery } from "../../engine/instance-query/instance-query.ts";
import type { SortField } from "../../engine/instance-query/parse-sort.ts";
import {
  dataNumber,
  dataOther,
  filterSql,
  hasDataEquality,
  orderedColumn,
  SqlValues,
} from "./instance-filter-sql.ts";

export interface SqlStatement {
  readonly text: string;
  readonly values: unknown[];
}

/** Whose instances are listed; a statement always names both. */
export interface ListScope {
  readonly domain: string;
  readonly flow: string;
  /** Definitions are instances of the system flows and have a view that looks like `instance`. */
  readonly table?: InstanceTable;
}
export type InstanceTable = "instance" | "component_instance";

/** One expression to order by, apart from its direction: the first can become a column. */
interface OrderTerm {
  readonly expression: string;
  readonly direction: string;
}

/** When a list by a data value goes from one way of finding its page to the next. */
export interface ProbeLimits {
  /** How much of the list, in its own order, is looked through before the index on `data` is asked. */
  readonly walked: number;
  /** How many matches that index may give to be sorted as they are. */
  readonly probed: number;
}
const defaultLimits: ProbeLimits = { walked: 2000, probed: 50_000 };

/** From this row on, rows are skipped by the index alone and only the page's own are fetched. */
const deepOffset = 1000;

/**
 * The page, and one row more: whoever gets `pageSize + 1` rows knows that there is a next page.
 * `columns` is our own text, such as `i.id, i.key`.
 */
export function instanceListSql(
  query: InstanceQuery,
  scope: ListScope,
  columns: string,
  limits: ProbeLimits = defaultLimits,
): SqlStatement {
  const values = new SqlValues();
  const table = tableOf(scope);
  const own = ownSql(scope, values);
  const filter = query.filter === undefined ? undefined : filterSql(query.filter, values);
  const terms = orderTerms(query.sort, values);
  const skipped = (query.page - 1) * query.pageSize;
  const limit = values.add(query.pageSize + 1, "bigint");
  const page = `limit ${limit} offset ${values.add(skipped, "bigint")}`;

  if (query.filter !== undefined && filter !== undefined && hasDataEquality(query.filter)) {
    const walk = isWalkable(query.sort)
      ? values.add(skipped + query.pageSize + 1, "bigint")
      : undefined;
    const text = probedListSql({ table, columns, own, filter, terms, page, walk, limits });
    return { text, values: values.list };
  }
  const where = filter === undefined ? own : `${own} and (${filter})`;
  const rest = `from ${table} i where ${where} order by ${orderBy(terms)} ${page}`;
  const text =
    skipped < deepOffset
      ? `select ${columns} ${rest}`
      : `with page as (select i.id ${rest}) ${pageRows(table, columns, terms)}`;
  return { text, values: values.list };
}

export const tableOf = ({ table }: ListScope): InstanceTable => table ?? "instance";

/** The condition that every statement has. */
function ownSql(scope: ListScope, values: SqlValues): string {
  return `i.domain = ${values.add(scope.domain, "text")} and i.flow = ${values.add(scope.flow, "text")}`;
}

export function whereSql(query: InstanceQuery, scope: ListScope, values: SqlValues): string {
  const own = ownSql(scope, values);
  return query.filter === undefined ? own : `${own} and (${filterSql(query.filter, values)})`;
}

/**
 * Lists by a data value. The server cannot know how many documents hold a value (it keeps no
 * statistics on documents over 1 kB): it guesses one in a hundred, walks the list in order, and for
 * a rare value walks all of it. At 1,000,000 instances of 1.3 kB that took 4 s; this takes 2-8 ms:
 *
 * near   the newest rows are looked through in order; a common value fills the page here.
 * hit    else the index on `data` gives a bounded number of matches, which are sorted and cut.
 * last   when it gives more than that, the list is walked in order after all: of so many matches
 *        the first are soon met, unless all are old; then the statement's time limit ends it.
 *
 * Each step runs only when the one before did not do; its condition is known before it starts.
 */
function probedListSql(parts: {
  table: InstanceTable;
  columns: string;
  own: string;
  filter: string;
  terms: readonly OrderTerm[];
  page: string;
  /** The number of rows that fill the page, where the list can be walked by an index. */
  walk: string | undefined;
  limits: ProbeLimits;
}): string {
  const { table, columns, own, filter, terms, page, walk, limits } = parts;
  const order = orderBy(terms);
  const where = `${own} and (${filter})`;
  const keys = terms.map(({ expression }, index) => `, ${expression} as k${index + 1}`).join("");
  const byKey = terms.map(({ direction }, index) => `k${index + 1} ${direction}`).join(", ");
  const start = `from ${table} i where ${own} order by ${order} limit ${limits.walked}`;
  const near = `select i.id${keys} from (select i.* ${start}) i where ${filter} order by ${order} limit ${walk}`;
  const filled = `(select count(*) from near) = ${walk}`;
  const probed = "(select count(*) from hit)";
  return (
    `with ${walk === undefined ? "" : `near as materialized (${near}), `}` +
    `hit as materialized (select i.id${keys} from ${table} i where ${where}` +
    `${walk === undefined ? "" : ` and not ${filled}`} limit ${limits.probed + 1}), page as (` +
    (walk === undefined
      ? ""
      : `(select id from near where ${filled} order by ${byKey} ${page}) union all `) +
    `(select id from hit where ${probed} <= ${limits.probed} order by ${byKey} ${page}) union all ` +
    `(select i.id from ${table} i where ${where} and ${probed} > ${limits.probed} order by ${order} ${page})) ` +
    pageRows(table, columns, terms)
  );
}

/** The rows whose ids are in `page`, in order. */
const pageRows = (table: InstanceTable, columns: string, terms: readonly OrderTerm[]): string =>
  `select ${columns} from page join ${table} i on i.id = page.id order by ${orderBy(terms)}`;

/** Whether an index gives the list in this order: by creation, the default. */
function isWalkable(sort: readonly SortField[]): boolean {
  const [first, second] = sort;
  if (first === undefined) return true;
  return (
    second === undefined && first.field.kind === "column" && first.field.column === "createdAt"
  );
}

const orderBy = (terms: readonly OrderTerm[]): string =>
  terms.map(({ expression, direction }) => `${expression} ${direction}`).join(", ");

/**
 * Without a wish newest first. With one, equal values are ordered by ascending id whatever the
 * direction, as the public system does, so that pages neither repeat nor skip a row.
 */
function orderTerms(sort: readonly SortField[], values: SqlValues): OrderTerm[] {
  if (sort.length === 0) {
    return [
      { expression: "i.created_at", direction: "desc" },
      { expression: "i.id", direction: "desc" },
    ];
  }
  return [
    ...sort.flatMap((field) => sortTerms(field, values)),
    { expression: "i.id", direction: "asc" },
  ];
}

/** Numbers in data come as numbers, then everything else as text; missing values always last. */
function sortTerms({ field, descending }: SortField, values: SqlValues): OrderTerm[] {
  const direction = descending ? "desc" : "asc";
  if (field.kind === "column") {
    // `nulls last` on a column without nulls would only keep the index from giving this order.
    const neverNull = ["id", "flow", "status", "createdAt"].includes(field.column);
    const expression = orderedColumn(field.column);
    return [{ expression, direction: neverNull ? direction : `${direction} nulls last` }];
  }
  const path = values.add(field.path, "text[]");
  return [dataNumber(path), dataOther(path)].map((expression) => ({
    expression,
    direction: `${direction} nulls last`,
  }));
}
