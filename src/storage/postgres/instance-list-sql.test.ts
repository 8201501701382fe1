import * as fc from "fast-check";
import { expect, test } from "vitest";
import { hostileText, validInstanceQuery } from "../../../test/support/any-instance-query.ts";
import { columnNames } from "../../engine/instance-query/columns.ts";
import { parseInstanceQuery } from "../../engine/instance-query/instance-query.ts";
import { operators } from "../../engine/instance-query/operators.ts";
import { instantPattern, offsetPattern } from "../../engine/instance-query/instant.ts";
import { columnSql } from "./instance-filter-sql.ts";
import { instanceGroupsSql } from "./instance-groups-sql.ts";
import { instanceListSql } from "./instance-list-sql.ts";

const scope = { domain: "core", flow: "order" };

/** Every piece a statement may consist of. What is left after taking them out came from a caller. */
const words = new Set([
  ..."select from where and or is not true distinct null as with materialized union all join on".split(
    " ",
  ),
  ..."order by asc desc nulls last limit offset group case when then else end in any collate".split(
    " ",
  ),
  ..."ilike at time zone count sum avg min max trim_scale coalesce nullif".split(" "),
  ..."jsonb_typeof jsonb_path_exists json_build_object to_jsonb to_char".split(" "),
  ..."text uuid timestamptz smallint boolean bigint numeric jsonb jsonpath char".split(" "),
  ..."instance near hit page i s id domain flow data name keys k g for".split(" "),
  ...Object.values(columnSql).map((sql) => sql.slice(2)),
]);
const literals = new Set([
  ..."number string boolean null UTC Z {}".split(" "),
  "",
  ", ",
  'YYYY-MM-DD"T"HH24:MI:SS.US"Z"',
  ..."initial intermediate finish subFlow wizard none success error terminated".split(" "),
  ..."suspended busy human cancelled timeout".split(" "),
  instantPattern,
  offsetPattern,
]);

function foreignParts(sql: string): string[] {
  const foreign: string[] = [];
  const withoutLiterals = sql.replaceAll(/'([^']*)'/g, (_, literal: string) => {
    if (!literals.has(literal)) foreign.push(literal);
    return " ";
  });
  const rest = withoutLiterals
    .replaceAll(/"(?:C|char)"/g, " ")
    .replaceAll(/\$[0-9]+/g, " ")
    .replaceAll(/[a-z_]+/g, (word) => (words.has(word.replace(/^for_[a-z]+$/, "for")) ? " " : word))
    .replaceAll(/@>|#>>|#>|\|\||<=|>=|<>|::|\[\]|[<>=~(),.*]|\b[0-9]+\b/g, " ")
    .replaceAll(/(?<= )[0-9]+/g, " ");
  return [...foreign, ...rest.split(/\s+/).filter((part) => part !== "")];
}

const name = fc.oneof(
  fc.constantFrom(...columnNames, ...operators, "and", "or", "not", "attributes", "gte", "groupBy"),
  fc.stringMatching(/^[a-z][a-z0-9_]{0,5}(?:\.[a-z]{1,3}){0,2}$/),
  hostileText,
  fc.string({ maxLength: 6 }),
);
const scalar = fc.oneof(
  fc.constantFrom(
    "A",
    "Active",
    "2026-01-31",
    "2026-01-31T10:00Z",
    "true",
    "a,b",
    "5",
    5,
    0.1,
    true,
  ),
  fc.uuid(),
  hostileText,
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constant(null),
);
const anyJson = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 5 }, scalar, fc.array(scalar, { maxLength: 3 }), tie("object")),
  object: fc.dictionary(name, tie("value"), { maxKeys: 3 }),
})).object;

const field = fc.oneof(fc.constantFrom(...columnNames), fc.constantFrom("amount", "a.b"), name);
const operand = fc.oneof(scalar, fc.array(scalar, { minLength: 1, maxLength: 3 }), anyJson);
const condition = fc
  .tuple(field, fc.constantFrom(...operators), operand)
  .map(([on, operator, value]) => ({ [on]: { [operator]: value } }));
const likelyFilter = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    condition,
    condition,
    fc.array(tie("node"), { minLength: 1, maxLength: 3 }).map((and) => ({ and })),
    fc.array(tie("node"), { minLength: 1, maxLength: 3 }).map((or) => ({ or })),
    tie("node").map((not) => ({ not })),
    condition.map((attributes) => ({ attributes })),
  ),
})).node;

const query = fc.record(
  {
    filter: fc.oneof(
      { weight: 4, arbitrary: likelyFilter.map((json) => JSON.stringify(json)) },
      anyJson.map((json) => JSON.stringify(json)),
      fc
        .tuple(name, fc.constantFrom(...operators), scalar)
        .map(([on, op, v]) => `${on}=${op}:${v}`),
      fc.string({ unit: "binary" }),
    ),
    sort: fc.oneof(
      field.map((on) => JSON.stringify({ field: on, direction: "desc" })),
      name.map((on) => JSON.stringify({ fields: [{ field: `attributes.${on}` }] })),
      fc.string(),
    ),
    groupBy: fc.oneof(
      fc.array(field, { maxLength: 3 }).map((fields) => JSON.stringify({ fields })),
      anyJson.map((json) => JSON.stringify(json)),
    ),
    aggregations: fc
      .dictionary(fc.constantFrom("count", "sum", "avg", "min", "max", "x"), field)
      .map((json) => JSON.stringify(json)),
  },
  { requiredKeys: [] },
);

function checkStatement(parsed: ReturnType<typeof parseInstanceQuery>): void {
  if ("reasons" in parsed) {
    expect(parsed.reasons.length).toBeGreaterThan(0);
    expect(parsed.reasons.length).toBeLessThanOrEqual(20);
    return;
  }
  const { grouping } = parsed.query;
  const statement =
    grouping === undefined
      ? instanceListSql(parsed.query, scope, "i.id")
      : instanceGroupsSql(parsed.query, grouping, scope);
  expect(foreignParts(statement.text)).toEqual([]);
  expect(statement.values.slice(0, 2)).toEqual(["core", "order"]);
}

test("no query throws, and no statement holds a word that a caller chose", () => {
  fc.assert(
    fc.property(query, (raw) => checkStatement(parseInstanceQuery(raw))),
    { numRuns: 2000 },
  );
});

test("a valid query is accepted, however hostile its values, and they stay out of the text", () => {
  fc.assert(
    fc.property(validInstanceQuery, (raw) => {
      fc.pre(raw.filter.length <= 5000);
      const parsed = parseInstanceQuery(raw);
      expect(parsed).toHaveProperty("query");
      checkStatement(parsed);
    }),
    { numRuns: 2000 },
  );
});

test("the check above finds foreign words and literals", () => {
  expect(foreignParts("select i.id from secrets where i.key = 'x'")).toEqual(["x", "secrets"]);
  expect(foreignParts("select pg_sleep(5); drop")).toContain("pg_sleep");
});

test("values travel as parameters, typed by the statement", () => {
  const parsed = parseInstanceQuery({
    filter: '{"status":{"eq":"A"},"attributes":{"n":{"gt":9007199254740993}}}',
    page: "3",
    pageSize: "20",
  });
  if (!("query" in parsed)) throw new Error("refused");

  expect(instanceListSql(parsed.query, scope, "i.id, i.key")).toEqual({
    text:
      'select i.id, i.key from instance i where i.domain = $1::text and i.flow = $2::text and ((i.status = $3::"char") and ' +
      "(jsonb_path_exists(i.data, $4::jsonpath, $5::jsonb, true))) " +
      "order by i.created_at desc, i.id desc limit $6::bigint offset $7::bigint",
    values: [
      "core",
      "order",
      "A",
      'strict $."n" ? (@ > $bound)',
      '{"bound":9007199254740993}',
      21,
      40,
    ],
  });
});
