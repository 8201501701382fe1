import { describe, expect, test } from "vitest";
import { compileExpression } from "./compile-expression.ts";
import { ExpressionError } from "./expression-error.ts";
import type { ExpressionContext } from "./expression-context.ts";

const context: ExpressionContext = {
  Body: { amount: 150, half: 0.5, name: "Ada", items: [1], nested: {} },
  Headers: {},
  QueryParameters: {},
  RouteValues: {},
  MetaData: {},
  CurrentTransition: null,
  Workflow: null,
  Instance: null,
  Transition: null,
  Runtime: null,
};

function errorOf(act: () => unknown): ExpressionError {
  try {
    act();
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
  throw new Error("Nothing was thrown.");
}

describe("refused at compile time", () => {
  test.each([
    ["", 1, 1, "The expression is empty."],
    [" \n\t", 1, 1, "The expression is empty."],
    ["1 +", 1, 4, "Expected a value, the expression ends."],
    ["(1 + 2", 1, 7, "Expected ')', the expression ends."],
    ["1 2", 1, 3, "Expected an operator or the end, found 2."],
    ["1 +\n  * 2", 2, 3, "Expected a value, found *."],
    ["context.Body.", 1, 14, "Expected a member name"],
    ["context.Body[1", 1, 15, "Expected ']'"],
    ["true ? 1", 1, 9, "Expected ':'"],
    ["a", 1, 1, "Unknown name 'a'. The only variable is 'context'."],
    ["Instance.Key", 1, 1, "Write 'context.Instance'."],
    ["Context.Body", 1, 1, "Unknown name 'Context'."],
    [
      "context.TaskResponse",
      1,
      9,
      "'TaskResponse' is not available here; there are: Body, Headers",
    ],
    ["context.Instance.Secret", 1, 18, "'Secret' is not available here; there are: Id, Key"],
    ["context.Instance.ToString()", 1, 18, "'ToString' is not available here"],
    ['context["Body"]', 1, 8, "An index is not available here"],
    ["context", 1, 1, "This is not a value; its members are: Body"],
    ["context.Instance ?? 1", 1, 1, "This is not a value"],
    ["1 + context.Instance", 1, 5, "This is not a value"],
    ["context.Body.GetType()", 1, 14, "There is no method 'GetType'; there are: AsDouble"],
    ["context.Body.name.toString()", 1, 19, "There is no method 'toString'"],
    ["context.Body.name.constructor()", 1, 19, "There is no method 'constructor'"],
    ["context.Body.name.ToString(1)", 1, 19, "'ToString' takes 0 arguments, not 1."],
    ['"a".Substring()', 1, 5, "'Substring' takes 1 to 2 arguments, not 0."],
    ["string.Concat()", 1, 8, "'Concat' takes at least 1 arguments, not 0."],
    ["Math.Evil(1)", 1, 6, "'Math' has only these methods: Abs"],
    ["Math.PI", 1, 6, "'Math' has only these methods"],
    ["Math", 1, 1, "'Math' is a type"],
    ["DateTime.UtcNow", 1, 1, "An expression has no clock; dates in ISO form compare as text."],
    ["eval(1)", 1, 1, "There is no function 'eval'."],
    ["varyKey(1)", 1, 1, "'varyKey' takes no argument, or 'context'."],
    ["sha256()", 1, 1, "'sha256' takes one argument."],
    ["context.Body.a = 1", 1, 16, "An expression assigns nothing; '==' compares."],
    ["1 === 1", 1, 5, "An expression assigns nothing"],
    ["true; false", 1, 5, "One expression is expected"],
    ['$"a{1}"', 1, 1, "Interpolated text"],
    ["1 # 2", 1, 3, '"#" has no meaning'],
    ["x => x", 1, 3, "Expected an operator or the end, found =>."],
    ["new Foo()", 1, 1, "'new' makes arrays only"],
    ['"abc', 1, 1, "The literal has no closing quote."],
    ['"abc\n"', 1, 1, "The literal has no closing quote."],
    ['@"abc', 1, 1, "The literal has no closing quote."],
    [String.raw`1 + "\q"`, 1, 6, String.raw`'\q' is not an escape sequence.`],
    [String.raw`"\uD8"`, 1, 2, "is not an escape sequence."],
    [String.raw`"\UFFFFFFFF"`, 1, 2, "is not an escape sequence."],
    ["'ab'", 1, 1, "exactly one character"],
    ["''", 1, 1, "exactly one character"],
    ["12ab", 1, 1, "'12a' is not a number."],
    ["0x", 1, 1, "'0x' is not a number."],
  ])("%j at line %i, column %i: %s", (source, line, column, sentence) => {
    const error = errorOf(() => compileExpression(source));

    expect(error).toMatchObject({ phase: "compile", line, column });
    expect(error.message).toContain(sentence);
    expect(error.message).toMatch(/\(line \d+, column \d+\)$/);
  });

  test("what is known not to be a boolean is no rule, and what is known not to be text no key", () => {
    expect(errorOf(() => compileExpression("1 + 1", "rule")).message).toContain(
      "A rule answers a boolean; this is a number.",
    );
    expect(errorOf(() => compileExpression('"a" + 1', "rule")).message).toContain("this is a text");
    expect(errorOf(() => compileExpression("1 > 2", "key")).message).toContain("this is a boolean");
    expect(errorOf(() => compileExpression("sha256(null) == null", "rule")).message).toContain(
      "'sha256' belongs to cache keys",
    );
  });
});

describe("failed at evaluation", () => {
  test.each([
    [
      "context.Body.amout.AsDouble() > 5",
      20,
      "JSON value is not a number. context.Body.amout is null.",
    ],
    ["context.Body.name.AsDouble()", 19, 'context.Body.name is the text "Ada".'],
    ["context.Body.half.AsInt32()", 19, "context.Body.half is the number 0.5. Use AsDouble()."],
    ["context.Body.name.AsBoolean()", 19, "JSON value is not a boolean."],
    [
      "context.Body.nested.AsArrayLength()",
      21,
      "JSON value is not an array. context.Body.nested is an object.",
    ],
    [
      "context.Body.amount.ToUpper()",
      21,
      "ToUpper() needs a text: context.Body.amount is the number 150.",
    ],
    [
      "context.Body.missing.Contains(1)",
      22,
      "Contains() needs a text: context.Body.missing is null.",
    ],
    ["context.Body.name.Contains(1)", 19, "Contains() takes a text, not the number 1."],
    ['1 + 2 * ("a" - 1)', 14, "'-' takes two numbers, not the text \"a\" and the number 1."],
    ["context.Body.name > 5", 19, "takes two numbers or two texts"],
    ["-context.Body.name", 1, "'-' takes a number"],
    ["1 && true", 1, "'&&' takes a boolean, not the number 1."],
    ["true && context.Body.missing", 9, "not null. Compare it: == true."],
    ["!context.Body.missing", 1, "'!' takes a boolean, not null."],
    ['"x" ? 1 : 2', 1, "'?' takes a boolean"],
    ["true & 1", 6, "'&' takes two booleans"],
    ["1 / 0", 3, "Attempted to divide by zero."],
    ["5 % (1 - 1)", 3, "Attempted to divide by zero."],
    ["context.Body.items[0.5]", 19, "An index is a name or a whole number, not the number 0.5."],
    ["context.Body.items[null]", 19, "not null"],
    ['"abc".Substring(2, 5)', 7, "does not lie within a text of 3 characters."],
    ['"abc".Substring(-1)', 7, "does not lie within"],
    ['"abc".Replace("", "x")', 7, "Replace() needs something to replace"],
    ['int.Parse("1.5")', 5, 'the text "1.5" does not spell a number of that type.'],
    ['int.Parse("9999999999")', 5, "does not fit a 32-bit integer."],
    ['double.Parse("1,5")', 8, "does not spell a number"],
    ["int.Parse(5)", 5, "Text is needed to parse"],
    ["Convert.ToInt32(context.Body.items)", 9, "needs a number, not an array of 1."],
    ["(int)context.Body.name", 1, "a cast to int needs a number"],
    ["(long)1e300", 1, "is not a whole number of at most 53 bits."],
    ["Math.Round(1.5, 16)", 6, "keeps 0 to 15 decimals"],
    ["Math.Abs(null)", 6, "Math.Abs needs a number, not null."],
    ["string.Join(1, 2, 3)", 8, "takes a text as separator"],
  ])("%s at column %i: %s", (source, column, sentence) => {
    const compiled = compileExpression(source);

    const error = errorOf(() => compiled.evaluate(context));

    expect(error).toMatchObject({ phase: "evaluation", line: 1, column });
    expect(error.message).toContain(sentence);
    expect(error.message.startsWith("Dynamic Expresso evaluation failed: ")).toBe(true);
  });

  test("a context that is not JSON fails as an evaluation, with its cause", () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;

    const error = errorOf(() =>
      compileExpression("context.Body.ToString()").evaluate({ ...context, Body: cycle }),
    );

    expect(error.message).toContain("The context holds a value that is not JSON.");
    expect(error.cause).toBeInstanceOf(TypeError);
  });
});
