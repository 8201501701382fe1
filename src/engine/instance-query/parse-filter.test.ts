import { describe, expect, test } from "vitest";
import type { FilterNode } from "./filter.ts";
import { parseInstanceQuery } from "./instance-query.ts";

const parse = (filter: string) => parseInstanceQuery({ filter });
const json = (filter: unknown) => parse(JSON.stringify(filter));

function understood(filter: string): FilterNode | undefined {
  const parsed = parse(filter);
  if (!("query" in parsed)) throw new Error(JSON.stringify(parsed.reasons));
  return parsed.query.filter;
}

const data = (path: string, expected: object) => ({
  kind: "data",
  path: path.split("."),
  test: expected,
});
const column = (name: string, expected: object) => ({
  kind: "column",
  column: name,
  test: expected,
});
const oneOf = (...values: unknown[]) => ({ is: "oneOf", negated: false, values });
const noneOf = (...values: unknown[]) => ({ is: "oneOf", negated: true, values });
const number = (relation: string, text: string) => ({
  is: "compared",
  relation,
  value: { kind: "number", text },
});
const instant = (relation: string, text: string) => ({
  is: "compared",
  relation,
  value: { kind: "instant", text },
});

describe("each operator on a data field", () => {
  test.each<[string, object]>([
    ['{"eq":"Ankara"}', oneOf('"Ankara"')],
    ['{"eq":5}', oneOf("5")],
    ['{"eq":true}', oneOf("true")],
    ['{"ne":"x"}', noneOf('"x"')],
    ['{"neq":"x"}', noneOf('"x"')],
    ['{"gt":5}', number("gt", "5")],
    ['{"ge":5}', number("ge", "5")],
    ['{"gte":5}', number("ge", "5")],
    ['{"lt":-0.5}', number("lt", "-0.5")],
    ['{"le":5}', number("le", "5")],
    ['{"LTE":5}', number("le", "5")],
    ['{"gt":"50"}', number("gt", "50")],
    ['{"gt":"2026-01-31"}', instant("gt", "2026-01-31Z")],
    ['{"le":"2026-01-31T09:30:00+03:00"}', instant("le", "2026-01-31T09:30:00+03:00")],
    ['{"like":"50%_"}', { is: "text", where: "anywhere", text: "50%_" }],
    ['{"match":"a"}', { is: "text", where: "anywhere", text: "a" }],
    ['{"startsWith":"a"}', { is: "text", where: "start", text: "a" }],
    ['{"endswith":"a"}', { is: "text", where: "end", text: "a" }],
    ['{"in":["a",5,null]}', oneOf('"a"', "5")],
    ['{"nin":["a"]}', noneOf('"a"')],
    ['{"in":"a, 5"}', oneOf('"a"', '"5"', "5")],
    ['{"isNull":true}', { is: "null", expected: true }],
    ['{"ISNULL":"false"}', { is: "null", expected: false }],
    ['{"includes":{"code":"A","n":1.50}}', { is: "including", object: '{"code":"A","n":1.50}' }],
  ])("%s", (condition, expected) => {
    expect(understood(`{"attributes":{"city":${condition}}}`)).toEqual(data("city", expected));
  });

  test("between is both ends, inclusive", () => {
    expect(understood('{"amount":{"between":[50,200.10]}}')).toEqual({
      kind: "and",
      nodes: [data("amount", number("ge", "50")), data("amount", number("le", "200.10"))],
    });
    expect(understood('{"amount":{"between":"50, 200"}}')).toEqual({
      kind: "and",
      nodes: [data("amount", number("ge", "50")), data("amount", number("le", "200"))],
    });
  });

  test("numbers keep every digit they were written with", () => {
    expect(understood('{"n":{"eq":9007199254740993}}')).toEqual(
      data("n", oneOf("9007199254740993")),
    );
    expect(understood('{"n":{"in":[0.10,1e5]}}')).toEqual(data("n", oneOf("0.10", "1e5")));
  });
});

describe("columns", () => {
  test.each<[string, object]>([
    ['{"status":{"eq":"A"}}', column("status", oneOf("A"))],
    ['{"Status":{"eq":"faulted"}}', column("status", oneOf("F"))],
    ['{"status":{"nin":["Busy","c"]}}', column("status", noneOf("B", "C"))],
    ['{"state":{"eq":"review"}}', column("effectiveState", oneOf("review"))],
    ['{"stateType":{"eq":"subflow"}}', column("effectiveStateType", oneOf(4))],
    ['{"currentStateType":{"in":[1,"3","wizard"]}}', column("currentStateType", oneOf(1, 3, 5))],
    ['{"stateSubType":{"ne":"cancelled"}}', column("effectiveStateSubType", noneOf(7))],
    ['{"key":{"eq":5}}', column("key", oneOf("5"))],
    ['{"isTransient":{"eq":"true"}}', column("isTransient", oneOf(true))],
    [
      '{"createdAt":{"ge":"2026-01-31T09:30"}}',
      column("createdAt", { is: "compared", relation: "ge", value: "2026-01-31T09:30Z" }),
    ],
    [
      '{"id":{"eq":"0190A5B1-0000-7000-8000-00000000000A"}}',
      column("id", oneOf("0190a5b1-0000-7000-8000-00000000000a")),
    ],
    ['{"id":{"startswith":"0190"}}', column("id", { is: "text", where: "start", text: "0190" })],
    ['{"completedAt":{"isNull":true}}', column("completedAt", { is: "null", expected: true })],
  ])("%s", (filter, expected) => {
    expect(understood(filter)).toEqual(expected);
  });

  test("inside attributes a column's name is a data field like any other", () => {
    expect(understood('{"attributes":{"status":{"eq":"A"}}}')).toEqual(
      data("status", oneOf('"A"')),
    );
    expect(understood('{"attributes.status":{"eq":"A"}}')).toEqual(data("status", oneOf('"A"')));
  });
});

describe("structure", () => {
  const a = data("a", oneOf("1"));
  const b = data("b", oneOf("2"));
  test.each<[string, object | undefined]>([
    ["{}", undefined],
    ['{"attributes":{}}', undefined],
    ['{"and":[{}]}', undefined],
    ['{"a":{"eq":1}}', a],
    ['{"a":{"eq":1},"attributes":{"b":{"eq":2}}}', { kind: "and", nodes: [a, b] }],
    ['{"AND":[{"a":{"eq":1}},{"b":{"eq":2}}]}', { kind: "and", nodes: [a, b] }],
    ['{"or":[{"a":{"eq":1}},{"b":{"eq":2}}]}', { kind: "or", nodes: [a, b] }],
    ['{"not":{"a":{"eq":1}}}', { kind: "not", node: a }],
    ['{"address":{"city":{"eq":"x"}}}', data("address.city", oneOf('"x"'))],
    ['{"attributes":{"address.city":{"eq":"x"}}}', data("address.city", oneOf('"x"'))],
    [
      '{"n":{"gt":1,"lt":9}}',
      { kind: "and", nodes: [data("n", number("gt", "1")), data("n", number("lt", "9"))] },
    ],
    ['{/* all */"a":{"eq":1,},// one\n}', a],
  ])("%s", (filter, expected) => {
    expect(understood(filter)).toEqual(expected);
  });
});

describe("the legacy form", () => {
  test.each<[string, object]>([
    ["status=eq:Active", column("status", oneOf("A"))],
    ["attributes=clientId=eq:122", data("clientId", oneOf('"122"', "122"))],
    ["attributes=status=eq:x", data("status", oneOf('"x"'))],
    ["name=ne:x' OR TRUE --", data("name", noneOf(`"x' OR TRUE --"`))],
    ["name=eq:a=b:c", data("name", oneOf('"a=b:c"'))],
    ["name=eq:a\nb\tc", data("name", oneOf(String.raw`"a\nb\tc"`))],
    ["profile.name=eq:true", data("profile.name", oneOf('"true"', "true"))],
    ["attributes=type=in:a, b", data("type", oneOf('"a"', '"b"'))],
    ["rank=ge:2", data("rank", number("ge", "2"))],
    ["name=like:%", data("name", { is: "text", where: "anywhere", text: "%" })],
  ])("%s", (filter, expected) => {
    expect(understood(filter)).toEqual(expected);
  });

  test("between has two ends", () => {
    expect(understood("attributes=amount=between:50,200")).toMatchObject({ kind: "and" });
  });
});

const long = "z".repeat(1001);
const deep = (levels: number) =>
  Array.from({ length: levels }).reduce((inner) => ({ not: inner }), { a: { eq: 1 } } as object);

describe("each refusal says which member and why", () => {
  test.each<[string, string, string]>([
    ["z".repeat(5001), "filter.tooLong", "filter"],
    ['{"a":{"eq":1}', "filter.invalidJson", "filter"],
    ['{"a":{"eq":1', "filter.unrecognizedFormat", "filter"],
    ["[1]", "filter.unrecognizedFormat", "filter"],
    ["attributes.category eq 'finance'", "filter.unrecognizedFormat", "filter"],
    ["{invalid-json}", "filter.invalidJson", "filter"],
    ['{"a":{"eq":1},"a":{"eq":2}}', "filter.invalidJson", "filter"],
    ['{"a":{"eq":01}}', "filter.invalidJson", "filter"],
    ['{"a":5}', "filter.unknownProperty", "filter.a"],
    ['{"attributes":5}', "filter.unknownProperty", "filter.attributes"],
    ['{"and":[]}', "filter.emptyLogicalOperator", "filter.and"],
    ['{"or":[]}', "filter.emptyLogicalOperator", "filter.or"],
    ['{"or":[{"a":{"eq":1}},{}]}', "filter.emptyLogicalOperator", "filter.or[1]"],
    ['{"not":{}}', "filter.emptyLogicalOperator", "filter.not"],
    ['{"and":{"a":{"eq":1}}}', "filter.invalidValue", "filter.and"],
    ['{"or":[5]}', "filter.invalidValue", "filter.or[0]"],
    ['{"and":[{"a":{"eq":1}}],"status":{"eq":"A"}}', "filter.ambiguousNode", "filter"],
    ['{"":{"eq":1}}', "filter.emptyFieldName", "filter"],
    ['{"attributes":{" ":{"eq":1}}}', "filter.emptyFieldName", "filter"],
    ['{"a":{"":1}}', "filter.emptyOperatorName", "filter.a"],
    ['{"amount":{"gtee":1}}', "filter.unknownOperator", "filter.amount.gtee"],
    [
      '{"and":[{},{"status":{"equals":"A"}}]}',
      "filter.unknownOperator",
      "filter.and[1].status.equals",
    ],
    ['{"status":{"nested":{"eq":1}}}', "filter.unknownOperator", "filter.status.nested"],
    ["name=unsupported:plain", "filter.unknownOperator", "filter.name.unsupported"],
    ['{"a":{}}', "filter.noOperator", "filter.a"],
    ['{"attributes":{"a":5}}', "filter.noOperator", "filter.a"],
    ['{"a":{"b":{}}}', "filter.noOperator", "filter.a.b"],
    ['{"status":{"gt":"A"}}', "filter.operatorNotAllowed", "filter.status.gt"],
    ['{"isTransient":{"in":[true]}}', "filter.operatorNotAllowed", "filter.isTransient.in"],
    ['{"createdAt":{"like":"2026"}}', "filter.operatorNotAllowed", "filter.createdAt.like"],
    ['{"key":{"includes":{"a":1}}}', "filter.operatorNotAllowed", "filter.key.includes"],
    ['{"a":{"includes":{"b":1},"eq":2}}', "filter.operatorNotAllowed", "filter.a.includes"],
    ["a=isNull:true", "filter.operatorNotAllowed", "filter.a.isNull"],
    ["a=eq:", "filter.invalidValue", "filter.a.eq"],
    ['{"status":{"eq":"Gone"}}', "filter.invalidValue", "filter.status.eq"],
    ['{"id":{"eq":"12"}}', "filter.invalidValue", "filter.id.eq"],
    ['{"createdAt":{"gt":"yesterday"}}', "filter.invalidValue", "filter.createdAt.gt"],
    ['{"createdAt":{"gt":"2026-02-29"}}', "filter.invalidValue", "filter.createdAt.gt"],
    ['{"stateType":{"eq":"end"}}', "filter.invalidValue", "filter.stateType.eq"],
    ['{"isTransient":{"eq":1}}', "filter.invalidValue", "filter.isTransient.eq"],
    ['{"a":{"eq":null}}', "filter.invalidValue", "filter.a.eq"],
    ['{"key":{"eq":null}}', "filter.invalidValue", "filter.key.eq"],
    ['{"a":{"eq":[1]}}', "filter.invalidValue", "filter.a.eq"],
    ['{"a":{"eq":{"b":1}}}', "filter.invalidValue", "filter.a.eq"],
    ['{"a":{"eq":1e401}}', "filter.invalidValue", "filter.a.eq"],
    [String.raw`{"a":{"eq":"x\u0000"}}`, "filter.invalidValue", "filter.a.eq"],
    [String.raw`{"a":{"eq":"\ud800"}}`, "filter.invalidValue", "filter.a.eq"],
    ['{"a":{"gt":"M"}}', "filter.invalidValue", "filter.a.gt"],
    ['{"a":{"gt":true}}', "filter.invalidValue", "filter.a.gt"],
    ['{"a":{"between":[1]}}', "filter.invalidValue", "filter.a.between"],
    ['{"a":{"between":[1,"2026-01-01"]}}', "filter.invalidValue", "filter.a.between"],
    ['{"a":{"between":5}}', "filter.invalidValue", "filter.a.between"],
    ['{"a":{"in":[]}}', "filter.invalidValue", "filter.a.in"],
    ['{"a":{"in":[null]}}', "filter.invalidValue", "filter.a.in"],
    ['{"a":{"in":[[1]]}}', "filter.invalidValue", "filter.a.in"],
    ['{"a":{"like":null}}', "filter.invalidValue", "filter.a.like"],
    ['{"a":{"isNull":1}}', "filter.invalidValue", "filter.a.isNull"],
    ['{"a":{"includes":"x"}}', "filter.invalidValue", "filter.a.includes"],
    ['{"a":{"includes":{}}}', "filter.invalidValue", "filter.a.includes"],
    [String.raw`{"a":{"includes":{"b":{"\u0000":1}}}}`, "filter.invalidValue", "filter.a.includes"],
    [`{"a":{"eq":"${long}"}}`, "filter.valueTooLong", "filter.a.eq"],
    [`{"a":{"between":["plain","${long}"]}}`, "filter.valueTooLong", "filter.a.between"],
    [`{"a":{"nin":["x","${long}"]}}`, "filter.valueTooLong", "filter.a.nin"],
    [`{"a":{"includes":{"b":["${long}"]}}}`, "filter.valueTooLong", "filter.a.includes"],
    [`{"not":{"a":{"b":{"eq":"${long}"}}}}`, "filter.valueTooLong", "filter.not.a.b.eq"],
    [`a=eq:${long}`, "filter.valueTooLong", "filter.a.eq"],
    [`a=between:plain,${long}`, "filter.valueTooLong", "filter.a.between"],
    [`a=in:plain,${long}`, "filter.valueTooLong", "filter.a.in"],
    ['{"status.code":{"eq":1}}', "filter.invalidField", "filter.status.code"],
    ['{"effectiveStatus":{"eq":"A"}}', "filter.invalidField", "filter.effectiveStatus"],
    ['{"1a":{"eq":1}}', "filter.invalidField", "filter.1a"],
    ['{"_a":{"eq":1}}', "filter.invalidField", "filter._a"],
    ['{"a..b":{"eq":1}}', "filter.invalidField", "filter.a..b"],
    [`{"${"a".repeat(51)}":{"eq":1}}`, "filter.invalidField", `filter.${"a".repeat(51)}`],
    [`{"a":{"${"b".repeat(51)}":{"eq":1}}}`, "filter.invalidField", `filter.a.${"b".repeat(51)}`],
    ['{"a.b.c.d.e.f.g.h.i.j.k":{"eq":1}}', "filter.invalidField", "filter.a.b.c.d.e.f.g.h.i.j.k"],
    [JSON.stringify(deep(40)), "filter.tooDeep", `filter${".not".repeat(33)}`],
  ])("%.60s → %s", (filter, code, target) => {
    const parsed = parse(filter);

    expect(parsed).toMatchObject({ code: "Validation:900011", reasons: [{ code, target }] });
  });

  test.each([
    `a"b`,
    `a'; drop table instance; --`,
    `a) or true --`,
    "a b",
    "a\u0000",
    "données",
    `$.a ? (@ > 1)`,
    "a{0}",
    "a-b",
    "a\nb",
  ])("a name that is not a plain path is refused: %j", (name) => {
    for (const filter of [
      { [name]: { eq: 1 } },
      { attributes: { [name]: { eq: 1 } } },
      { attributes: { a: { [name]: { eq: 1 } } } },
    ]) {
      expect(json(filter)).toMatchObject({ reasons: [{ code: "filter.invalidField" }] });
    }
  });

  test("__proto__ is a name like any other, and not a path", () => {
    expect(parse('{"__proto__":{"eq":1}}')).toMatchObject({
      reasons: [{ code: "filter.invalidField", target: "filter.__proto__" }],
    });
  });
});

describe("limits are inclusive", () => {
  test.each([
    ["a value of 1000 characters", { a: { eq: "z".repeat(1000) } }],
    ["a list longer than 1000 characters", { a: { in: ["z".repeat(1000), "y".repeat(1000)] } }],
    ["a segment of 50 characters", { ["a".repeat(50)]: { eq: 1 } }],
    ["a path of ten segments", { "a.b.c.d.e.f.g.h.i.j": { eq: 1 } }],
  ])("%s", (_, filter) => {
    expect(json(filter)).toHaveProperty("query");
  });

  test("a field name of 101 characters is refused, one of 100 is not", () => {
    const name = `${"a".repeat(50)}.${"b".repeat(49)}`;
    expect(json({ [name]: { eq: 1 } })).toHaveProperty("query");
    expect(json({ [`${name}b`]: { eq: 1 } })).toMatchObject({
      reasons: [{ code: "filter.invalidField" }],
    });
  });

  test("the message of a long value names the limit", () => {
    expect(JSON.stringify(parse(`a=eq:${long}`))).toContain("1000");
  });

  test("reasons come together, at most twenty", () => {
    const fields = Array.from({ length: 30 }, (_, index) => [`f${index}`, { gtee: 1 }]);
    const parsed = json(Object.fromEntries(fields));
    expect("reasons" in parsed && parsed.reasons).toHaveLength(20);
  });
});

describe("a misspelt operator gets a hint", () => {
  test.each([
    ["gtee", "ge"],
    ["equals", "eq"],
    ["notequals", "ne"],
    ["contains", "like"],
    ["notIn", "nin"],
    ["null", "isNull"],
    ["startwith", "startswith"],
    ["isnul", "isNull"],
    ["betwen", "between"],
  ])("%s → %s", (name, suggestion) => {
    const parsed = json({ a: { [name]: 1 } });
    expect("reasons" in parsed && parsed.reasons[0]?.message).toContain(
      `Did you mean '${suggestion}'?`,
    );
  });
});
