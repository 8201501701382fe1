/**
 * A filter as a SQL condition on `instance i`.
 *
 * Whatever the caller wrote travels as a parameter: values, JSON paths and the like. The text of
 * the statement is put together from the words in this file only.
 *
 * A test on a missing value may come out as SQL null, which a WHERE reads as false; `not` is
 * therefore written `is not true`, so that it stays the exact complement.
 */
import { columns, type Column, type ColumnKind } from "../../engine/instance-query/columns.ts";
import type { Field } from "../../engine/instance-query/field.ts";
import type { ColumnTest, DataTest, FilterNode } from "../../engine/instance-query/filter.ts";
import { instantPattern, offsetPattern } from "../../engine/instance-query/instant.ts";

/** The parameters of a statement, in the order of their placeholders. */
export class SqlValues {
  readonly list: unknown[] = [];

  /** The placeholder of a new parameter: `$3::text`. */
  add(value: unknown, type: string): string {
    this.list.push(value);
    return `$${this.list.length}::${type}`;
  }
}

/** The only column names a list statement can contain. */
export const columnSql: Readonly<Record<Column, string>> = {
  id: "i.id",
  key: "i.key",
  flow: "i.flow",
  status: "i.status",
  currentState: "i.current_state",
  currentStateType: "i.current_state_type",
  currentStateSubType: "i.current_state_sub_type",
  effectiveState: "i.effective_state",
  effectiveStateType: "i.effective_state_type",
  effectiveStateSubType: "i.effective_state_sub_type",
  stage: "i.stage",
  createdAt: "i.created_at",
  modifiedAt: "i.modified_at",
  completedAt: "i.completed_at",
  createdBy: "i.created_by",
  createdByBehalfOf: "i.created_by_behalf_of",
  modifiedBy: "i.modified_by",
  modifiedByBehalfOf: "i.modified_by_behalf_of",
  isTransient: "i.is_transient",
};

const sqlType: Readonly<Record<ColumnKind, string>> = {
  text: "text",
  uuid: "uuid",
  instant: "timestamptz",
  stateType: "smallint",
  stateSubType: "smallint",
  status: '"char"',
  boolean: "boolean",
};

const sqlRelation = { gt: ">", ge: ">=", lt: "<", le: "<=" } as const;

/** A column as ordered values: text by code point, so that every server gives the same order. */
export function orderedColumn(column: Column): string {
  return columns[column] === "text" ? `${columnSql[column]} collate "C"` : columnSql[column];
}

/** The text at a data path; null when it is missing or JSON null. */
export const dataText = (path: string): string => `(i.data #>> ${path})`;
/** The number at a data path; null for anything else, so the cast cannot fail. */
export const dataNumber = (path: string): string =>
  `case when jsonb_typeof(i.data #> ${path}) = 'number' then ${dataText(path)}::numeric end`;
/** What is at a data path and is not a number, as text. */
export const dataOther = (path: string): string =>
  `case when jsonb_typeof(i.data #> ${path}) <> 'number' then ${dataText(path)} end collate "C"`;

/** A field as something that is SQL null where the instance has no value for it. */
export const fieldValue = (field: Field, values: SqlValues): string =>
  field.kind === "column" ? columnSql[field.column] : dataText(values.add(field.path, "text[]"));

export function filterSql(node: FilterNode, values: SqlValues): string {
  if (node.kind === "column") return columnTestSql(node.column, node.test, values);
  if (node.kind === "data") return dataTestSql(node.path, node.test, values);
  if (node.kind === "not") return `(${filterSql(node.node, values)}) is not true`;
  return node.nodes.map((child) => `(${filterSql(child, values)})`).join(` ${node.kind} `);
}

function columnTestSql(column: Column, test: ColumnTest, values: SqlValues): string {
  const sql = columnSql[column];
  const type = sqlType[columns[column]];
  if (test.is === "null") return nullSql(sql, test.expected);
  if (test.is === "text") {
    const text = columns[column] === "uuid" ? `${sql}::text` : sql;
    return `${text} ilike ${values.add(likePattern(test), "text")}`;
  }
  if (test.is === "compared") {
    return `${orderedColumn(column)} ${sqlRelation[test.relation]} ${values.add(test.value, type)}`;
  }
  if (test.values.length === 1) {
    const equal = test.negated ? "is distinct from" : "=";
    return `${sql} ${equal} ${values.add(test.values[0], type)}`;
  }
  const oneOf = `${sql} = any(${values.add(test.values, `${type}[]`)})`;
  return test.negated ? `(${oneOf}) is not true` : oneOf;
}

function dataTestSql(path: readonly string[], test: DataTest, values: SqlValues): string {
  if (test.is === "oneOf") {
    const oneOf = contained(
      test.values.map((value) => nested(path, value)),
      values,
    );
    return test.negated ? `(${oneOf}) is not true` : oneOf;
  }
  if (test.is === "including") return contained([nested(path, `[${test.object}]`)], values);
  if (test.is === "compared" && test.value.kind === "number") {
    // A JSON path compares numbers with numbers and leaves everything else out, exactly and
    // without a cast that one odd row could break. `strict` keeps it from looking into arrays.
    const keys = path.map((segment) => `."${segment}"`).join("");
    const question = `strict $${keys} ? (@ ${sqlRelation[test.relation]} $bound)`;
    const bound = `{"bound":${test.value.text}}`;
    return `jsonb_path_exists(i.data, ${values.add(question, "jsonpath")}, ${values.add(bound, "jsonb")}, true)`;
  }
  const pathParameter = values.add(path, "text[]");
  const text = dataText(pathParameter);
  if (test.is === "null") return nullSql(text, test.expected);
  if (test.is === "compared") {
    const bound = values.add(test.value.text, "timestamptz");
    return `${instantSql(text)} ${sqlRelation[test.relation]} ${bound}`;
  }
  // Objects and arrays have no text of their own, only notation.
  const scalar = `jsonb_typeof(i.data #> ${pathParameter}) in ('string', 'number', 'boolean')`;
  return `${scalar} and ${text} ilike ${values.add(likePattern(test), "text")}`;
}

/** Containment, which the index on `data` answers; numbers keep their value, 5 equals 5.0. */
function contained(documents: readonly string[], values: SqlValues): string {
  return documents.length === 1
    ? `i.data @> ${values.add(documents[0], "jsonb")}`
    : `i.data @> any(${values.add(documents, "jsonb[]")})`;
}

/** JSON text of a document that has only this value, at this path. */
function nested(path: readonly string[], valueText: string): string {
  return path.reduceRight((inner, segment) => `{"${segment}":${inner}}`, valueText);
}

/** The instant in a text, else null; one without an offset is in UTC, whatever the session says. */
function instantSql(text: string): string {
  const offset = `case when ${text} ~ '${offsetPattern}' then '' else 'Z' end`;
  return `(case when ${text} ~ '${instantPattern}' then (${text} || ${offset})::timestamptz end)`;
}

const nullSql = (sql: string, expected: boolean): string =>
  `${sql} ${expected ? "is null" : "is not null"}`;

function likePattern(test: { where: "anywhere" | "start" | "end"; text: string }): string {
  const literal = test.text.replaceAll(/[\\%_]/g, String.raw`\$&`);
  return `${test.where === "start" ? "" : "%"}${literal}${test.where === "end" ? "" : "%"}`;
}

/** Whether every matching row holds a given data value, so that the index on `data` can find it. */
export function hasDataEquality(node: FilterNode): boolean {
  switch (node.kind) {
    case "data":
      return node.test.is === "including" || (node.test.is === "oneOf" && !node.test.negated);
    case "and":
      return node.nodes.some(hasDataEquality);
    case "or":
      return node.nodes.every(hasDataEquality);
    default:
      return false;
  }
}
