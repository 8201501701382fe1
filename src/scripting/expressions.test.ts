import { describe, expect, test } from "vitest";
import { readScriptCode } from "../engine/definition/script-code.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { createExpressions } from "./expressions.ts";
import type { ExpressionContext } from "./language/expression/expression-context.ts";

const expressions = createExpressions();
const context = {
  Instance: { Data: { due: "2026-01-31T09:00:00+03:00", wait: "PT5M", amount: 10, odd: "soon" } },
} as unknown as ExpressionContext;
const plain = (code: string) => readScriptCode({ encoding: "NAT", code }, { domain: "core" })!;
const expression = (code: string) =>
  readScriptCode({ encoding: "NAT", code, location: "dynamicExpresso" }, { domain: "core" })!;

function failureOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof StepFailed) return `${error.failure.code} ${error.message}`;
    throw error;
  }
  throw new Error("it did not fail");
}

describe("a timer", () => {
  test.each([
    ["a duration", plain("PT0.3S"), { delayMs: 300 }],
    ["a duration in quotes", plain('"P1DT2H"'), { delayMs: 93_600_000 }],
    ["no time at all", plain("PT0S"), { delayMs: 0 }],
    ["an instant", plain("2026-01-31T09:00:00Z"), { dueAt: new Date("2026-01-31T09:00:00Z") }],
    [
      "an instant without offset, in UTC",
      plain("2026-01-31 09:00"),
      { dueAt: new Date(1769850000000) },
    ],
    [
      "an instant from the data",
      expression("context.Instance.Data.due"),
      { dueAt: new Date("2026-01-31T06:00:00Z") },
    ],
    ["a duration from the data", expression("context.Instance.Data.wait"), { delayMs: 300_000 }],
  ])("may be %s", (_, script, expected) => {
    expect(expressions.schedule(script, () => context)).toEqual(expected);
  });

  test.each([
    ["a text that is no moment", expression("context.Instance.Data.odd"), "yields 'soon'"],
    ["a number", expression("context.Instance.Data.amount"), "Transition:100007"],
  ])("that is %s fails with the reason", (_, script, reason) => {
    expect(failureOf(() => expressions.schedule(script, () => context))).toContain(reason);
  });

  test("that is a class is somebody else's to run", () => {
    expect(expressions.schedule(plain("class Timer {}"), () => context)).toBeUndefined();
  });
});

describe("a rule", () => {
  test.each([
    ["context.Instance.Data.amount > 9", true],
    ["context.Instance.Data.amount > 10", false],
    ["context.Instance.Data.missing == null", true],
  ])("%s is %s", (code, expected) => {
    expect(expressions.holds(code, context)).toBe(expected);
  });

  test.each([
    ["is a text", "context.Instance.Data.odd"],
    ["does not compile", "context..x"],
  ])("that %s fails", (_, code) => {
    expect(failureOf(() => expressions.holds(code, context))).toContain("Transition:100007");
  });
});

test("an expression that does not compile is a mistake at publish, with its place", () => {
  expect(expressions.check("context.Body.a ==").mistakes).toEqual([
    expect.stringMatching(/line 1, column \d+/),
  ]);
  expect(expressions.check("context.Body.a == 1")).toEqual({ mistakes: [], warnings: [] });
});
