import { describe, expect, test } from "vitest";
import { parseJson } from "../../../engine/exact-json.ts";
import { compileExpression, evaluateKey, evaluateRule } from "./compile-expression.ts";
import type { ExpressionContext } from "./expression-context.ts";

const context: ExpressionContext = {
  Body: parseJson(`{
    "amount": 150, "price": 0.10, "big": 9007199254740993, "negative": -7,
    "name": "Ada", "Status": "approved", "count": 9, "empty": "", "nothing": null,
    "flag": true, "flagText": "True", "numberText": "42",
    "items": [1, 2.5, "three", true, null, 9007199254740993],
    "nested": { "Deep": { "value": 5 } },
    "class": "economy", "constructor": "own", "__proto__": "data"
  }`),
  Headers: { "x-request-id": "r-1", sub: "u1" },
  QueryParameters: { page: "2" },
  RouteValues: { entityId: "e-1" },
  MetaData: {},
  CurrentTransition: { Data: { comment: "fine" }, Header: { sub: "u1" } },
  Workflow: {
    Key: "loan",
    Domain: "core",
    Flow: "sys-flows",
    Version: "1.0.0",
    StateKeys: ["draft", "done"],
  },
  Instance: {
    Id: "018f",
    Key: null,
    Flow: "loan",
    CurrentState: "draft",
    EffectiveState: "draft",
    EffectiveStateType: "Initial",
    EffectiveStateSubType: null,
    Data: { status: "approved", days: 2, approvers: ["u1", "u2"], documents: [] },
  },
  Transition: null,
  Runtime: { Domain: "core", Version: "0.1.0" },
};

const valueOf = (source: string): unknown => compileExpression(source).evaluate(context);
const rule = (source: string) => evaluateRule(compileExpression(source), context);
const key = (source: string) => evaluateKey(compileExpression(source, "key"), context);

describe("literals", () => {
  test.each<[string, unknown]>([
    ["null", null],
    ["true", true],
    ["1_000", 1000],
    ["10m", 10],
    ["1.5d", 1.5],
    [".5", 0.5],
    ["3L", 3],
    ["2.5e3", 2500],
    ["0xFF", 255],
    ["007", 7],
    [String.raw`"a\t\"b\"\\\u0041\x41\U0001F600"`, 'a\t"b"\\AA😀'],
    [String.raw`@"C:\temp ""x"""`, 'C:\\temp "x"'],
    ["'x'", "x"],
    [String.raw`'\''`, "'"],
    ["\uFEFF  7 ", 7],
    ["5.ToString()", "5"],
  ])("%s is %j", (source, value) => {
    expect(valueOf(source)).toBe(value);
  });
});

describe("reading the context", () => {
  test.each<[string, unknown]>([
    ["context.Body.amount", 150],
    ['context.Body["amount"]', 150],
    ["context.Body.AMOUNT", 150],
    ['context.Body["status"]', "approved"],
    ["context.Body.nested.deep.VALUE", 5],
    ["context.Body.class", "economy"],
    ["context.Body.missing", null],
    ["context.Body.missing.deeper.still", null],
    ['context.Body.missing["x"][3]', null],
    ["context.Body.nothing.x", null],
    ["context.Body.amount.x", null],
    ["context.Body.name.first", null],
    ["context.Body.items.x", null],
    ["context.Body.items[0]", 1],
    ["context.Body.items[99]", null],
    ["context.Body.items[-1]", null],
    ["context.Body.items[1 + 1]", "three"],
    ["context.Body.items.Count", 6],
    ["context.Body.items.Length", 6],
    ["context.Body.count", 9],
    ["context.Body.name.Length", 3],
    ["context.Body.name[0]", "A"],
    ["context.body.amount", 150],
    ["context.Headers.Sub", "u1"],
    ['context.Headers["X-Request-Id"]', "r-1"],
    ["context.CurrentTransition.Data.comment", "fine"],
    ["context.Workflow.StateKeys[1]", "done"],
    ["context.Instance.CurrentState", "draft"],
    ["context.Instance.Key", null],
    ["(context.Instance).Flow", "loan"],
    ["context.Transition.Key", null],
    ["context.Transition?.Key", null],
    ["context?.Runtime?.Domain", "core"],
    ["context != null", true],
    ["context.Instance != null", true],
    ["context.Transition == null", true],
    ['context.Transition != null && context.Transition.Key == "x"', false],
  ])("%s is %j", (source, value) => {
    expect(valueOf(source)).toBe(value);
  });

  test("a null in front of ?. or ?[ ends the whole chain with null", () => {
    expect(valueOf("context.Body.missing.ToString()")).toBe("");
    expect(valueOf("context.Body.missing?.ToString()")).toBe(null);
    expect(valueOf("context.Body.missing?.x.AsDouble()")).toBe(null);
    expect(valueOf("context.Body.missing?[0].AsDouble()")).toBe(null);
    expect(valueOf("(context.Body.missing?.x).ToString()")).toBe("");
    expect(valueOf("context.Transition?.Key.ToUpper()")).toBe(null);
    expect(valueOf("context.Body.name?.ToUpper()")).toBe("ADA");
  });

  test("names that JavaScript objects inherit are data: own members or null", () => {
    expect(valueOf("context.Body.constructor")).toBe("own");
    expect(valueOf('context.Body["__proto__"]')).toBe("data");
    expect(valueOf("context.Headers.constructor")).toBe(null);
    expect(valueOf("context.Headers.__proto__")).toBe(null);
    expect(valueOf('context.Headers["toString"]')).toBe(null);
    expect(valueOf("context.Body.items.constructor")).toBe(null);
    expect(valueOf('context.Body.name["constructor"]["constructor"]')).toBe(null);
    expect(valueOf("context.Body.price.text")).toBe(null);
  });
});

describe("operators", () => {
  test.each<[string, unknown]>([
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["10 - 4 - 3", 3],
    ['2 + 3 + "x"', "5x"],
    ['"x" + 2 + 3', "x23"],
    ["7 / 2", 3],
    ["-7 / 2", -3],
    ["7 / 2.0", 3.5],
    ["7m / 2", 3.5],
    ["7 % 4", 3],
    ["-7 % 4", -3],
    ["5.5 % 2", 1.5],
    ["1 / 0.0", Number.POSITIVE_INFINITY],
    ["context.Body.amount / 4", 37.5],
    ["context.Body.amount.AsInt32() / 4", 37],
    ["context.Body.items.AsArrayLength() / 4", 1],
    ["(7 - 2) / 2", 2],
    ["(true ? 7 : 5) / 2", 3],
    ["Math.Max(7, 2) / 2", 3],
    ["(int)7.9 / 2", 3],
    ["-context.Body.amount", -150],
    ["+1 - -1", 2],
    ["null + 1", null],
    ["-null", null],
    ["1 < 2 == true", true],
    ["true || false && false", true],
    ["false == false && true", true],
    ["true ? 1 : 2", 1],
    ["false ? 1 : true ? 2 : 3", 2],
    ["true ? false ? 1 : 2 : 3", 2],
    ["null ?? false || true", true],
    ['context.Body.missing ?? context.Body.nothing ?? "last"', "last"],
    ["context.Body.flag ?.5 : 1", 0.5],
    ["true & false | true", true],
    ["true ^ true", false],
    ["!true || !false", true],
    ["!(1 > 2)", true],
    ["null < 5", false],
    ["null >= null", false],
    ["context.Body.missing > 3", false],
    ["1.0 == 1", true],
    ['5 == "5"', false],
    ['"" == null', false],
    ["context.Body.nothing == null", true],
    ["true != false", true],
    ["\"a\" == 'a'", true],
    ['"2025-01-31" < "2025-02-01"', true],
    ["context.Body == context.Body", true],
    ["context.Body.items == context.Body.nested", false],
    ["new[] { 1, 2, 3 }.Contains(2)", true],
    ['new string[] { "a" }.Contains("b")', false],
    ["new[] { }.Length", 0],
    ["(int)3.9", 3],
    ["(string)context.Body.amount", "150"],
    ["(bool)context.Body.flagText", true],
    ["(double)context.Body.price", 0.1],
    ["(string)null", null],
  ])("%s is %j", (source, value) => {
    expect(valueOf(source)).toBe(value);
  });

  test("what && || ?: and ?? leave out is not evaluated", () => {
    expect(valueOf("false && context.Body.missing.AsBoolean()")).toBe(false);
    expect(valueOf("true || context.Body.missing.AsBoolean()")).toBe(true);
    expect(valueOf('true ? 1 : int.Parse("x")')).toBe(1);
    expect(valueOf('1 ?? int.Parse("x")')).toBe(1);
  });

  test("numbers compare by their exact value, however they are spelled", () => {
    expect(valueOf("context.Body.big == 9007199254740993")).toBe(true);
    expect(valueOf("context.Body.big == 9007199254740992")).toBe(false);
    expect(valueOf("context.Body.big > 9007199254740992")).toBe(true);
    expect(valueOf("context.Body.price == 0.1")).toBe(true);
    expect(valueOf("context.Body.items.Contains(9007199254740993)")).toBe(true);
    expect(valueOf("context.Body.items.Contains(9007199254740992)")).toBe(false);
    expect(valueOf("context.Body.price + 1")).toBe(1.1);
  });
});

describe("methods", () => {
  test.each<[string, unknown]>([
    ["context.Body.amount.AsDouble()", 150],
    ["context.Body.price.AsDouble()", 0.1],
    ["context.Body.amount.AsInt32()", 150],
    ["context.Body.flag.AsBoolean()", true],
    ["context.Body.flagText.AsBoolean()", true],
    ["context.Instance.Data.documents.AsArrayLength()", 0],
    ['context.Instance.Data.approvers.Contains("u2")', true],
    ["context.Body.items.Contains(null)", true],
    ['context.Body.items.Contains("1")', false],
    ['context.Workflow.StateKeys.Contains("done")', true],
    ["context.Body.name.ToString()", "Ada"],
    ["context.Body.nothing.ToString()", ""],
    ["context.Body.price.ToString()", "0.10"],
    ["context.Body.big.ToString()", "9007199254740993"],
    ["context.Body.flag.ToString()", "true"],
    ["context.Body.nested.ToString()", '{"Deep":{"value":5}}'],
    ["context.Instance.Data.approvers.ToString()", '["u1","u2"]'],
    ["true.ToString()", "True"],
    ["context.Body.flag.AsBoolean().ToString()", "True"],
    ['"is " + (1 > 2)', "is False"],
    ['"is " + context.Body.flag', "is true"],
    ["context.Body.name.ToUpper().ToLower()", "ada"],
    ['"straße ıi".ToUpper()', "STRAßE ıI"],
    ['"İI".ToLower()', "İi"],
    ['" a ".Trim() + "|"', "a|"],
    ['"abc".StartsWith("ab")', true],
    ["\"abc\".EndsWith('c')", true],
    ['"abc".Contains("x")', false],
    ["\"abc\".IndexOf('c')", 2],
    ['"abcdef".Substring(2)', "cdef"],
    ['"abcdef".Substring(2, 3)', "cde"],
    ['"abc".Substring(3)', ""],
    ['"a-b-c".Replace("-", "$&")', "a$&b$&c"],
    ['"a-b".Replace("-", null)', "ab"],
    ["\"a/b/c\".Split('/')[1]", "b"],
    ["\"a/b/c\".Split('/').Length", 3],
    ['"a".Equals("a")', true],
    ['"abcd".Length / 3', 1],
  ])("%s is %j", (source, value) => {
    expect(valueOf(source)).toBe(value);
  });
});

describe("static methods", () => {
  test.each<[string, unknown]>([
    ["Math.Abs(-3)", 3],
    ["Math.Min(2, 1.5)", 1.5],
    ["Math.Round(2.5)", 2],
    ["Math.Round(3.5)", 4],
    ["Math.Round(-2.5)", -2],
    ["Math.Round(1.256, 2)", 1.26],
    ["Math.Floor(-1.5) + Math.Ceiling(1.2)", 0],
    ["Math.Truncate(-1.5)", -1],
    ["Math.Pow(2, 10)", 1024],
    ["Math.Sqrt(16)", 4],
    ['Convert.ToInt32(" 42 ")', 42],
    ["Convert.ToInt32(2.5)", 2],
    ["Convert.ToInt32(context.Body.missing)", 0],
    ["Convert.ToInt32(true)", 1],
    ['Convert.ToDouble("1.5")', 1.5],
    ["Convert.ToDecimal(context.Body.numberText)", 42],
    ['Convert.ToBoolean("FALSE")', false],
    ["Convert.ToBoolean(2)", true],
    ["Convert.ToString(12)", "12"],
    ["Convert.ToString(true)", "True"],
    ["Convert.ToString(null)", ""],
    ['int.Parse("-5")', -5],
    ['Int64.Parse("3000000000")', 3_000_000_000],
    ['double.Parse("1e3")', 1000],
    ['decimal.Parse(".5")', 0.5],
    ['bool.Parse("true")', true],
    ["string.Empty.Length", 0],
    ["string.IsNullOrEmpty(context.Body.missing)", true],
    ["string.IsNullOrEmpty(context.Body.amount)", false],
    ['String.IsNullOrWhiteSpace(" \\t")', true],
    ['string.Concat("a", 1, null, true)', "a1True"],
    ['string.Join(", ", context.Instance.Data.approvers)', "u1, u2"],
    ["string.Join('-', \"a\", 1, null)", "a-1-"],
    ['string.Equals("a", "A")', false],
  ])("%s is %j", (source, value) => {
    expect(valueOf(source)).toBe(value);
  });
});

test("expressions of public packages answer as they do there", () => {
  const rules: [string, boolean][] = [
    ['context.Instance.Data["days"].AsDouble() > 100000', false],
    ['context.Instance.Data["documents"].AsArrayLength() == 0', true],
    ['context.Instance.Data["approvers"].Contains("u1")', true],
    ['context.RouteValues["entityId"].ToString() == context.Instance.Data["id"].ToString()', false],
    ['context.Transition != null && context.Transition.Key == "approve-auto"', false],
    ['context.Runtime != null && context.Runtime.Domain.ToString() == "core"', true],
    ['context.Instance.Data.status.ToString() == "approved"', true],
    ["context.Headers.sub.ToString() == context.Instance.Data.approvers[0].ToString()", true],
    ["context.Instance.Data.days < 3", true],
  ];

  for (const [source, answer] of rules) {
    expect(evaluateRule(compileExpression(source, "rule"), context), source).toBe(answer);
  }
});

test("a rule answers a boolean; any other value is named in the failure", () => {
  expect(rule("context.Body.flag")).toBe(true);
  expect(() => rule("context.Body.missing")).toThrow("A rule answers true or false, not null.");
  expect(() => rule("context.Body.flagText")).toThrow('not the text "True"');
  expect(() => rule("context.Body.amount")).toThrow("not the number 150");
  expect(() => rule("context.Body.items")).toThrow("not an array of 6");
});

test("a key is a text; any other value is named in the failure", () => {
  expect(key('"customer:" + context.Headers.sub + ":profile"')).toBe("customer:u1:profile");
  expect(() => key("context.Body.amount")).toThrow("A key is a text, not the number 150.");
  expect(() => key("context.Body.missing")).toThrow("not null");
});
