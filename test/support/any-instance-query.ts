/** List queries for property tests: valid ones, with values chosen by somebody who means harm. */
import * as fc from "fast-check";

export const hostileText = fc.constantFrom(
  "'; drop table instance; --",
  '"',
  "$1",
  "a) or (true",
  "\\",
  "__proto__",
  "pg_sleep",
  "attributes",
  "é",
);
/** Text as hostile as it gets that is still a valid value. */
const text = fc.oneof(hostileText, fc.string({ unit: "grapheme", maxLength: 8 }));
const path = fc
  .stringMatching(/^[a-z][a-z0-9_]{0,5}(?:\.[a-z]{1,3}){0,2}$/)
  .map((p) => `attributes.${p}`);
const numeric = fc.oneof(fc.integer(), fc.constantFrom("12", "0.10"));
const moment = fc.constantFrom("2026-01-31", "2026-01-31T10:00:00+03:00");
const state = fc.constantFrom("initial", "Finish", 4);
const on = (fields: fc.Arbitrary<string>, names: readonly string[], value: fc.Arbitrary<unknown>) =>
  fc
    .tuple(fields, fc.constantFrom(...names), value)
    .map(([subject, operator, operand_]) => ({ [subject]: { [operator]: operand_ } }));
const several = (values: fc.Arbitrary<unknown>) => fc.array(values, { minLength: 1, maxLength: 3 });
const pair = (values: fc.Arbitrary<unknown>) => fc.tuple(values, values);
const textColumn = fc.constantFrom("key", "flow", "state", "currentState", "stage", "createdBy");
const dateColumn = fc.constantFrom("createdAt", "modifiedAt", "completedAt");
const validCondition = fc.oneof(
  on(path, ["eq", "ne", "like", "match", "startswith", "endswith"], text),
  on(path, ["in", "nin"], several(fc.oneof(text, fc.integer(), fc.boolean()))),
  on(path, ["gt", "ge", "lt", "le", "gte"], fc.oneof(numeric, moment)),
  on(path, ["between"], fc.oneof(pair(numeric), pair(moment))),
  on(path, ["isNull"], fc.boolean()),
  on(path, ["includes"], fc.dictionary(text, text, { minKeys: 1, maxKeys: 2 })),
  on(textColumn, ["eq", "ne", "gt", "le", "like", "startswith", "endswith"], text),
  on(textColumn, ["in", "nin"], several(text)),
  on(dateColumn, ["eq", "ne", "gt", "ge", "lt", "le"], moment),
  on(dateColumn, ["between"], pair(moment)),
  on(fc.constantFrom("stateType", "currentStateType"), ["eq", "ne", "ge"], state),
  on(fc.constant("status"), ["eq", "ne"], fc.constantFrom("A", "busy")),
  on(fc.constant("id"), ["eq", "ne"], fc.uuid()),
  on(fc.constant("id"), ["like", "endswith"], text),
  on(fc.constant("isTransient"), ["eq", "ne"], fc.boolean()),
);
const validFilter = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    validCondition,
    fc.array(tie("node"), { minLength: 1, maxLength: 3 }).map((and) => ({ and })),
    fc.array(tie("node"), { minLength: 1, maxLength: 3 }).map((or) => ({ or })),
    tie("node").map((not) => ({ not })),
  ),
})).node;
const anyField = fc.oneof(textColumn, dateColumn, path, fc.constantFrom("status", "stateType"));
/** Query parameters that a list must accept. */
export const validInstanceQuery = fc.record(
  {
    filter: validFilter.map((json) => JSON.stringify(json)),
    sort: anyField.map((named) => JSON.stringify({ field: named, direction: "desc" })),
    groupBy: several(anyField).map((fields) => JSON.stringify({ fields })),
    aggregations: path.map((p) => JSON.stringify({ count: p, sum: p, avg: p, min: p, max: p })),
  },
  { requiredKeys: ["filter"] },
);
