import { describe, expect, test } from "vitest";
import * as fc from "fast-check";
import { parseJson } from "../../../engine/exact-json.ts";
import { compileExpression, maxExpressionLength } from "./compile-expression.ts";
import { maxTextLength } from "./evaluation.ts";
import { ExpressionError } from "./expression-error.ts";
import type { ExpressionContext } from "./expression-context.ts";
import { maxNesting } from "./parse.ts";

const withBody = (Body: unknown): ExpressionContext => ({
  Body,
  Headers: {},
  QueryParameters: {},
  RouteValues: {},
  MetaData: {},
  CurrentTransition: null,
  Workflow: null,
  Instance: null,
  Transition: null,
  Runtime: null,
});

const valueOf = (source: string): unknown => compileExpression(source).evaluate(withBody({}));
const long = (first: string, more: string) => first + more.repeat(7900 / more.length);

describe("the size of an expression", () => {
  test("8,000 characters are taken, one more is refused; white space around does not count", () => {
    const longest = `"${"x".repeat(maxExpressionLength - 2)}"`;

    expect(compileExpression(` ${longest}\n`).evaluate(withBody(null))).toHaveLength(7998);
    expect(() => compileExpression(`${longest}1`)).toThrow("has 8001 characters; 8000 are allowed");
  });

  test.each([
    ["brackets", "(", "1", ")"],
    ["negations", "!", "true", ""],
    ["signs", "- ", "1", ""],
    ["casts", "(int)", "1", ""],
    ["indexes", "new[] { 0 }[", "0", "]"],
    ["arguments", "Math.Abs(", "1", ")"],
    ["branches", "true ? ", "1", " : 2"],
    ["arrays", "new[] { ", "1", " }"],
  ])("%s nest up to the limit and no deeper", (_name, open, inner, close) => {
    const nested = (levels: number) => open.repeat(levels) + inner + close.repeat(levels);
    const evaluate = (levels: number) => compileExpression(nested(levels)).evaluate(withBody(null));

    expect(() => evaluate(maxNesting - 1)).not.toThrow();
    expect(() => evaluate(maxNesting)).toThrow(`nested deeper than ${maxNesting} levels`);
    expect(() => compileExpression(open.repeat(500))).toThrow(ExpressionError);
  });

  test("a long expression is not a deep one", () => {
    expect(valueOf(long("1", "+1"))).toBe(3951);
    expect(valueOf(long("false", "||false"))).toBe(false);
    expect(valueOf(long("null", "??null"))).toBe(null);
    expect(valueOf(long("context.Body", ".a"))).toBe(null);
    expect(valueOf(`${"false ? 1 : ".repeat(600)}2`)).toBe(2);
  });
});

describe("the work of an evaluation", () => {
  const megabyte = "a".repeat(maxTextLength);
  const hostile: [string, string, unknown][] = [
    ["a result that is too long", "context.Body", `${megabyte}a`],
    ["a text that grows", "context.Body + context.Body", megabyte],
    ["a replacement that multiplies", 'context.Body.Replace("a", "bb")', megabyte],
    [
      "a separator that multiplies",
      "string.Join(context.Body.s, context.Body.a)",
      {
        s: "x".repeat(10_000),
        a: Array.from({ length: 10_000 }, () => ""),
      },
    ],
    [
      "one costly step after the other",
      `context.Body${".ToUpper()".repeat(790)}`,
      `${"a".repeat(1e6)}ß`,
    ],
    [
      "JSON written again and again",
      `""${"+context.Body.ToString()".repeat(300)}`,
      { a: "x".repeat(900_000) },
    ],
    [
      "a search that meets its worst case",
      "context.Body.t.Contains(context.Body.p)",
      {
        t: megabyte,
        p: `${"a".repeat(250_000)}b${"a".repeat(250_000)}`,
      },
    ],
    [
      "many names in another letter case",
      `""${"+context.Body.NAME99999".repeat(300)}`,
      Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`name${i}`, ""])),
    ],
    [
      "a long array searched often",
      `false${"||context.Body.Contains(2)".repeat(300)}`,
      Array.from({ length: 500_000 }, () => 1),
    ],
    [
      "an exact number with a million digits",
      `false${"||context.Body<context.Body".repeat(280)}`,
      parseJson("9".repeat(1e6)),
    ],
    [
      "long texts that differ at their end",
      `false${"||context.Body.a==context.Body.b".repeat(200)}`,
      { a: `${"x".repeat(1e6)}a`, b: `${"x".repeat(1e6)}b` },
    ],
  ];

  test.each(hostile)("%s ends with a failure, soon", (_name, source, body) => {
    const compiled = compileExpression(source);
    const before = performance.now();

    expect(() => compiled.evaluate(withBody(body))).toThrow(ExpressionError);
    expect(performance.now() - before).toBeLessThan(60_000);
  });

  test("what one megabyte needs is allowed", () => {
    const source = 'context.Body.Trim().ToLower().Contains("b") || context.Body.Length > 5';

    expect(compileExpression(source).evaluate(withBody(megabyte))).toBe(true);
  });

  test("each evaluation has its own allowance", () => {
    const compiled = compileExpression('context.Body.Contains("b")');

    for (let i = 0; i < 20; i += 1) expect(compiled.evaluate(withBody(megabyte))).toBe(false);
  });
});

test("a context that knows more than is listed shows only what is listed", () => {
  const host = { ...withBody({}), Secrets: "s", Instance: { Id: "1", Data: {}, password: "p" } };
  const reach = (source: string) =>
    compileExpression(source).evaluate(host as unknown as ExpressionContext);

  expect(() => reach("context.Secrets")).toThrow("'Secrets' is not available here");
  expect(() => reach("context.Instance.password")).toThrow("'password' is not available here");
  expect(() => reach("(true ? context.Instance : null).password")).toThrow("This is not a value");
  expect(() => reach("new[] { context.Instance }[0].password")).toThrow("This is not a value");
});

test("functions and inherited members of a careless context stay out of sight", () => {
  class Host {
    own = () => "own";
    inherited(): string {
      return "inherited";
    }
  }
  const read = (source: string) => compileExpression(source).evaluate(withBody(new Host()));

  expect(read("context.Body.own")).toBe(null);
  expect(read("context.Body.inherited")).toBe(null);
  expect(read("context.Body.constructor.constructor")).toBe(null);
});

const word = fc.constantFrom(
  ..."context . .Body .a .Count ?. ?[ [ ] ( ) { } , + - * / % ! == != < > <= >= && || & | ^ ? : ??".split(
    " ",
  ),
  ..."1 0 2.5 7m 'x' true false null new[] (int) (string) Math.Abs( string.Join( sha256( varyKey()".split(
    " ",
  ),
  ..."AsDouble() .ToString() .Contains( .Split('') .Substring(1) .Replace( __proto__ constructor".split(
    " ",
  ),
  '"text"',
  '@"a"',
  "\n",
);

test("whatever the words, only an ExpressionError is ever thrown", () => {
  const body = { a: [1, "x", null, { b: parseJson("1.10") }], constructor: 1 };

  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(word, { maxLength: 40 }).map((words) => words.join(" ")),
        fc.string({ unit: "binary", maxLength: 60 }),
      ),
      (source) => {
        try {
          compileExpression(source).evaluate(withBody(body));
        } catch (error) {
          expect(error).toBeInstanceOf(ExpressionError);
          expect((error as ExpressionError).cause).toBeUndefined();
        }
      },
    ),
    { numRuns: 1000 },
  );
});
