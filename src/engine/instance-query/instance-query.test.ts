import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stateSubType, stateType } from "../definition/enumerations.ts";
import { stateSubTypeNumbers, stateTypeNumbers } from "./columns.ts";
import { parseInstanceQuery, type RawInstanceQuery } from "./instance-query.ts";
import { readInstant } from "./instant.ts";
import { isNumberText, readJson, writeJson } from "./read-json.ts";
import { reasonsByTarget } from "./reasons.ts";

function understood(raw: RawInstanceQuery) {
  const parsed = parseInstanceQuery(raw);
  if (!("query" in parsed)) throw new Error(JSON.stringify(parsed.reasons));
  return parsed.query;
}

const byColumn = (column: string, descending: boolean) => ({
  field: { kind: "column", column },
  descending,
});
const byData = (path: string, descending: boolean) => ({
  field: { kind: "data", path: path.split(".") },
  descending,
});

test("without parameters the first ten, newest first", () => {
  expect(understood({ filter: " ", sort: "" })).toEqual({
    filter: undefined,
    sort: [],
    grouping: undefined,
    page: 1,
    pageSize: 10,
  });
});

describe("page and pageSize", () => {
  test("are whole numbers within their limits", () => {
    expect(understood({ page: "1000", pageSize: "100" })).toMatchObject({
      page: 1000,
      pageSize: 100,
    });
    expect(understood({ page: 2, pageSize: 1 })).toMatchObject({ page: 2, pageSize: 1 });
  });

  test.each([
    ["page", "0"],
    ["page", "1001"],
    ["page", "-1"],
    ["page", "1.5"],
    ["page", "1e2"],
    ["page", ""],
    ["page", "abc"],
    ["page", ["1", "2"]],
    ["page", 1.5],
    ["pageSize", "0"],
    ["pageSize", "101"],
    ["pageSize", "99999999999999999999"],
  ])("%s=%j is refused", (name, value) => {
    expect(parseInstanceQuery({ [name]: value })).toMatchObject({
      code: "ModelValidation:Failed",
      reasons: [{ code: `${name}.invalid`, target: name }],
    });
  });
});

describe("sort", () => {
  test.each<[string, object[]]>([
    ['{"field":"createdAt","direction":"desc"}', [byColumn("createdAt", true)]],
    ['{"Field":"CreatedAt","Direction":"DESC"}', [byColumn("createdAt", true)]],
    ['{"field":"state"}', [byColumn("effectiveState", false)]],
    ['{"field":"status","direction":null}', [byColumn("status", false)]],
    ['{"field":"attributes.customer.no","direction":"asc"}', [byData("customer.no", false)]],
    [
      '{"fields":[{"field":"status"},{"field":"attributes.rank","direction":"desc"}]}',
      [byColumn("status", false), byData("rank", true)],
    ],
  ])("%s", (sort, expected) => {
    expect(understood({ sort }).sort).toEqual(expected);
    expect(understood({ orderBy: sort }).sort).toEqual(expected);
  });

  test("orderBy wins", () => {
    const query = understood({ sort: "-createdAt", orderBy: '{"field":"key"}' });
    expect(query.sort).toEqual([byColumn("key", false)]);
  });

  test.each([
    ["-createdAt", "sort.invalidJson", "sort"],
    ["createdAt", "sort.invalidJson", "sort"],
    ['"createdAt"', "sort.invalidJson", "sort"],
    ['{"field":"key","order":"desc"}', "sort.invalidJson", "sort.order"],
    ['{"field":5}', "sort.invalidJson", "sort.field"],
    ['{"fields":{}}', "sort.invalidJson", "sort.fields"],
    ['{"fields":["key"]}', "sort.invalidJson", "sort.fields[0]"],
    ['{"field":"key","fields":[{"field":"id"}]}', "sort.invalidJson", "sort"],
    ["{}", "sort.emptyField", "sort"],
    ['{"field":" "}', "sort.emptyField", "sort"],
    ['{"fields":[]}', "sort.emptyField", "sort"],
    ['{"fields":[{"direction":"asc"}]}', "sort.emptyField", "sort.fields[0]"],
    ['{"field":"key","direction":"descending"}', "sort.invalidDirection", "sort.direction"],
    ['{"field":"key","direction":1}', "sort.invalidDirection", "sort.direction"],
    ['{"field":"customerNo"}', "sort.unknownField", "sort.field"],
    ['{"field":"key; drop table instance"}', "sort.unknownField", "sort.field"],
    ['{"field":"attributes.customer-no"}', "sort.unsafePath", "sort.field"],
    ['{"field":"attributes."}', "sort.unsafePath", "sort.field"],
    [`{"fields":[${'{"field":"key"},'.repeat(11)}]}`, "sort.tooManyFields", "sort.fields"],
    ["z".repeat(5001), "sort.tooLong", "sort"],
  ])("%.50s → %s", (sort, code, target) => {
    expect(parseInstanceQuery({ sort })).toMatchObject({
      code: "Validation:900012",
      reasons: [{ code, target }],
    });
  });

  test("a misspelt column gets a hint, another name the way to the data", () => {
    expect(JSON.stringify(parseInstanceQuery({ sort: '{"field":"createAt"}' }))).toContain(
      "Did you mean 'createdAt'?",
    );
    expect(JSON.stringify(parseInstanceQuery({ sort: '{"field":"rank"}' }))).toContain(
      "write 'attributes.rank'",
    );
  });
});

describe("groupBy and aggregations", () => {
  const status = { name: "attributes.status", field: { kind: "data", path: ["status"] } };

  test("rows are counted when nothing else is asked for", () => {
    expect(understood({ groupBy: '{"field":"attributes.status"}' }).grouping).toEqual({
      fields: [status],
      aggregations: [{ fn: "count" }],
    });
  });

  test("fields may be columns, marked data and bare data", () => {
    const query = understood({ groupBy: '{"fields":["State","attributes.status","TestCase"]}' });
    expect(query.grouping?.fields).toEqual([
      { name: "effectiveState", field: { kind: "column", column: "effectiveState" } },
      status,
      { name: "testCase", field: { kind: "data", path: ["TestCase"] } },
    ]);
  });

  test("aggregations are read inside groupBy or beside it", () => {
    const aggregations = [
      { fn: "count", field: { kind: "column", column: "key" } },
      { fn: "sum", field: { kind: "data", path: ["amount"] } },
      { fn: "max", field: { kind: "column", column: "effectiveStateType" } },
    ];
    const text = '{"count":"key","sum":"attributes.amount","max":"stateType","min":null}';
    expect(
      understood({ groupBy: `{"field":"status","aggregations":${text}}` }).grouping?.aggregations,
    ).toEqual(aggregations);
    expect(
      understood({ groupBy: '{"field":"status"}', aggregations: text }).grouping?.aggregations,
    ).toEqual(aggregations);
  });

  test("aggregations alone change nothing, but are checked", () => {
    expect(understood({ aggregations: '{"count":true}' }).grouping).toBeUndefined();
  });

  test.each([
    ["{", "groupBy.invalidJson", "groupBy"],
    ["[]", "groupBy.invalidJson", "groupBy"],
    ['{"feild":"status"}', "groupBy.invalidJson", "groupBy.feild"],
    ['{"field":"status","fields":["key"]}', "groupBy.invalidJson", "groupBy"],
    ['{"fields":"status"}', "groupBy.invalidJson", "groupBy.fields"],
    ["{}", "groupBy.noFields", "groupBy"],
    ['{"fields":[]}', "groupBy.noFields", "groupBy"],
    ['{"field":""}', "groupBy.invalidField", "groupBy.field"],
    ['{"fields":["status",5]}', "groupBy.invalidField", "groupBy.fields[1]"],
    ['{"field":"a; drop table instance"}', "groupBy.invalidField", "groupBy.field"],
    [`{"fields":[${'"key",'.repeat(11)}]}`, "groupBy.tooManyFields", "groupBy.fields"],
  ])("groupBy=%.50s → %s", (groupBy, code, target) => {
    expect(parseInstanceQuery({ groupBy })).toMatchObject({
      code: "Validation:900013",
      reasons: [{ code, target }],
    });
  });

  test.each([
    ["{", "aggregations.invalidJson", "aggregations"],
    ["true", "aggregations.invalidJson", "aggregations"],
    ['{"median":"amount"}', "aggregations.invalidJson", "aggregations.median"],
    ["{}", "aggregations.empty", "aggregations"],
    ['{"count":false}', "aggregations.empty", "aggregations"],
    ['{"count":5}', "aggregations.invalidCount", "aggregations.count"],
    ['{"count":"a b"}', "aggregations.invalidCount", "aggregations.count"],
    ['{"sum":true}', "aggregations.invalidField", "aggregations.sum"],
    ['{"sum":"a-b"}', "aggregations.invalidField", "aggregations.sum"],
    ['{"avg":"createdAt"}', "aggregations.invalidField", "aggregations.avg"],
  ])("aggregations=%s → %s", (aggregations, code, target) => {
    expect(parseInstanceQuery({ aggregations })).toMatchObject({
      code: "Validation:900014",
      reasons: [{ code, target }],
    });
  });

  test("aggregations in two places are refused", () => {
    const groupBy = '{"field":"status","aggregations":{"count":true}}';
    expect(parseInstanceQuery({ groupBy, aggregations: '{"count":true}' })).toMatchObject({
      code: "Validation:900014",
      reasons: [{ code: "aggregations.ambiguous" }],
    });
  });

  test("a legacy filter cannot be grouped", () => {
    expect(
      parseInstanceQuery({ filter: "status=eq:A", groupBy: '{"field":"state"}' }),
    ).toMatchObject({ reasons: [{ code: "filter.legacyNotAggregatable" }] });
  });
});

describe("the envelope in filter", () => {
  test("carries filter, grouping and order; null grouping makes a plain list", () => {
    const filter = '{"filter":{"status":{"eq":"A"}},"groupBy":null,"orderBy":{"field":"key"}}';
    expect(understood({ filter })).toMatchObject({
      filter: { kind: "column", column: "status" },
      sort: [byColumn("key", false)],
      grouping: undefined,
    });
  });

  test("groups", () => {
    const filter = '{"FILTER":{},"groupBy":{"fields":["testCase"],"aggregations":{"count":true}}}';
    expect(understood({ filter })).toMatchObject({
      filter: undefined,
      grouping: { fields: [{ name: "testCase" }], aggregations: [{ fn: "count" }] },
    });
  });

  test.each<[RawInstanceQuery, string, string]>([
    [
      { filter: '{"fitler":{},"groupBy":{"field":"key"}}' },
      "filter.unknownProperty",
      "filter.fitler",
    ],
    [{ filter: '{"groupBy":{}}' }, "groupBy.noFields", "filter.groupBy"],
    [{ filter: '{"aggregations":{}}' }, "aggregations.empty", "filter.aggregations"],
    [
      { filter: '{"groupBy":null,"orderBy":{"field":"key","direction":"up"}}' },
      "sort.invalidDirection",
      "filter.orderBy.direction",
    ],
    [
      { filter: '{"filter":{"a":{"gtee":1}},"groupBy":null}' },
      "filter.unknownOperator",
      "filter.filter.a.gtee",
    ],
    [
      { filter: '{"groupBy":{"field":"key"}}', aggregations: '{"count":true}' },
      "filter.ambiguousEnvelope",
      "filter",
    ],
    [
      { filter: '{"groupBy":null,"orderBy":{"field":"key"}}', sort: '{"field":"id"}' },
      "filter.ambiguousEnvelope",
      "filter",
    ],
  ])("%j → %s", (raw, code, target) => {
    expect(parseInstanceQuery(raw)).toMatchObject({ reasons: [{ code, target }] });
  });

  test("only filter and orderBy do not make an envelope", () => {
    expect(parseInstanceQuery({ filter: '{"filter":{"a":{"eq":1}},"orderBy":{}}' })).toMatchObject({
      reasons: [{ code: "filter.noOperator", target: "filter.orderBy" }],
    });
  });
});

describe("reasons", () => {
  test("of all parameters come together under the first one's code", () => {
    const parsed = parseInstanceQuery({
      filter: "?",
      sort: "?",
      groupBy: "?",
      aggregations: "?",
      page: "x",
    });
    expect(parsed).toMatchObject({ code: "Validation:900011" });
    expect("reasons" in parsed && parsed.reasons.map(({ target }) => target)).toEqual([
      "filter",
      "sort",
      "groupBy",
      "aggregations",
      "page",
    ]);
  });

  test("repeated parameters are refused", () => {
    expect(parseInstanceQuery({ filter: ["a=eq:1", "b=eq:2"] })).toMatchObject({
      reasons: [{ code: "filter.repeated", target: "filter" }],
    });
  });

  test("are filed under their targets", () => {
    expect(
      reasonsByTarget([
        { code: "filter.a", target: "__proto__", message: "one" },
        { code: "filter.b", target: "__proto__", message: "two" },
      ]),
    ).toEqual(Object.fromEntries([["__proto__", ["filter.a: one", "filter.b: two"]]]));
  });
});

test("state types have the numbers that definitions use", () => {
  for (const [word, number] of Object.entries(stateTypeNumbers)) {
    expect(stateType.read(number)).toBe(word);
  }
  for (const [word, number] of Object.entries(stateSubTypeNumbers)) {
    expect(stateSubType.read(number)).toBe(word);
  }
  expect(Object.keys(stateTypeNumbers)).toHaveLength(stateType.words.length);
  expect(Object.keys(stateSubTypeNumbers)).toHaveLength(stateSubType.words.length);
});

const pad = (value: number, length: number) => String(value).padStart(length, "0");

describe("instants", () => {
  test.each([
    ["2026-01-31", "2026-01-31Z"],
    ["2024-02-29", "2024-02-29Z"],
    ["2000-02-29T00:00", "2000-02-29T00:00Z"],
    ["2026-01-31T23:59:59.1234567z", "2026-01-31T23:59:59.1234567z"],
    ["2026-01-31 09:30:00+0300", "2026-01-31 09:30:00+0300"],
    ["2026-01-31T09:30:00-03:30", "2026-01-31T09:30:00-03:30"],
  ])("%s", (text, expected) => {
    expect(readInstant(text)).toBe(expected);
  });

  test.each([
    "2026-04-31",
    "2026-02-29",
    "1900-02-29",
    "0000-01-01",
    "2026-13-01",
    "2026-01-00",
    "2026-01-31T24:00",
    "2026-01-31T09:60",
    "2026-01-31T09",
    "2026-01-31Z",
    "2026-01-31T09:30+15:00",
    "20260131",
    "2026-1-31",
    "2026-01-31\n",
    "٢٠٢٦-01-31",
    "now",
  ])("%s is none", (text) => {
    expect(readInstant(text)).toBeUndefined();
  });

  test("agree with the calendar", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9999 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 31 }),
        (year, month, day) => {
          const text = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
          const date = new Date(`${text}T00:00:00Z`);
          const exists = !Number.isNaN(date.valueOf()) && date.toISOString().startsWith(text);
          expect(readInstant(text) !== undefined).toBe(exists);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe("reading JSON", () => {
  test("what JSON.stringify writes comes back the same", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        const read = readJson(text);
        expect("value" in read && JSON.parse(writeJson(read.value))).toEqual(JSON.parse(text));
      }),
    );
  });

  test("no text makes it throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        readJson(text);
        readJson(`{${text}}`);
      }),
    );
  });

  test.each(["", "{", "[1", '"a', "{,}", "[,]", "[1 2]", "nul", "/* x", "01", '{"a" 1}', '"\n"'])(
    "%j is refused",
    (text) => {
      expect(readJson(text)).toHaveProperty("error");
    },
  );

  test("nesting has a limit", () => {
    expect(readJson("[".repeat(100) + "]".repeat(100))).toHaveProperty("error");
  });

  test("numbers are known by their notation", () => {
    expect(["0", "-1.50", "1e5", "9007199254740993"].every(isNumberText)).toBe(true);
    expect(["", "01", "+1", ".5", "1.", "0x1", "NaN", "1 "].some(isNumberText)).toBe(false);
  });
});
