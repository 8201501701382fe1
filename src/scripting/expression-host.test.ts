import { describe, expect, test } from "vitest";
import { readScriptCode } from "../engine/definition/script-code.ts";
import { StepFailed } from "../engine/task-failure.ts";
import { createExpressionHost } from "./expression-host.ts";
import type { ScriptContext } from "./script-host.ts";

const host = createExpressionHost();
const context = {
  Instance: { Data: { due: "2026-01-31T09:00:00+03:00", wait: "PT5M", amount: 10, odd: "soon" } },
} as unknown as ScriptContext;
const plain = (code: string) => readScriptCode({ encoding: "NAT", code }, { domain: "core" })!;
const expression = (code: string) =>
  readScriptCode({ encoding: "NAT", code, location: "dynamicExpresso" }, { domain: "core" })!;

async function failureOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.catch((reason: unknown) => reason);
  if (!(error instanceof StepFailed)) throw new Error("it did not fail", { cause: error });
  return `${error.failure.code} ${error.message}`;
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
  ])("may be %s", async (_, script, expected) => {
    expect(await host.schedule(script, context)).toEqual(expected);
  });

  test.each([
    ["a class", plain("class Timer {}"), "Task:400007 The timer script 'inline' cannot be run"],
    ["a text that is no moment", expression("context.Instance.Data.odd"), "yields 'soon'"],
    ["a number", expression("context.Instance.Data.amount"), "Transition:100007"],
  ])("that is %s fails with the reason", async (_, script, reason) => {
    expect(await failureOf(host.schedule(script, context))).toContain(reason);
  });
});

describe("a rule", () => {
  test.each([
    ["context.Instance.Data.amount > 9", true],
    ["context.Instance.Data.amount > 10", false],
    ["context.Instance.Data.missing == null", true],
  ])("%s is %s", async (code, expected) => {
    expect(await host.holds(expression(code), context)).toBe(expected);
  });

  test.each([
    ["is a text", expression("context.Instance.Data.odd"), "Transition:100007"],
    ["does not compile", expression("context..x"), "Transition:100007"],
    ["is a class", plain("class Rule {}"), "Task:400007"],
  ])("that %s fails", async (_, script, code) => {
    expect(await failureOf(host.holds(script, context))).toContain(code);
  });
});

test("a mapping is refused: it needs a sandbox", async () => {
  expect(await failureOf(host.map(plain("x"), context))).toContain("Task:400007");
});
