import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ExactNumber } from "../../../engine/exact-json.ts";
import { compileExpression } from "./compile-expression.ts";
import type { ExpressionContext } from "./expression-context.ts";
import { compareNumbers, roundHalfEven } from "./numbers.ts";

const valueOf = (source: string): unknown =>
  compileExpression(source).evaluate({} as ExpressionContext);

test("sums, differences and products of whole numbers are JavaScript's, with its precedence", () => {
  const operand = fc.integer({ min: -9999, max: 9999 });
  const operator = fc.constantFrom("+", "-", "*");

  fc.assert(
    fc.property(operand, fc.array(fc.tuple(operator, operand), { maxLength: 3 }), (first, rest) => {
      const source = [first, ...rest.map(([sign, value]) => `${sign} ${value}`)].join(" ");
      expect(valueOf(source)).toBe(reference(first, rest));
    }),
  );
});

/** Products first, then the sum of the signed products. */
function reference(first: number, rest: readonly (readonly [string, number])[]): number {
  const terms: [string, number][] = [["+", first]];
  for (const [sign, value] of rest) {
    const last = terms.at(-1)!;
    if (sign === "*") last[1] *= value;
    else terms.push([sign, value]);
  }
  return terms
    .slice(1)
    .reduce((sum, [sign, value]) => (sign === "+" ? sum + value : sum - value), terms[0]![1]);
}

test("whole-number division drops the fraction, towards zero", () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer().filter(Boolean), (a, b) => {
      expect(valueOf(`(${a}) / (${b}) * (${b}) + (${a}) % (${b}) == (${a})`)).toBe(true);
    }),
  );
});

test("exact numbers have the order of the integers they spell", () => {
  const digits = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n });

  fc.assert(
    fc.property(digits, digits, fc.nat(5), (a, b, zeros) => {
      const spelled = new ExactNumber(`${a}.${"0".repeat(zeros + 1)}`);
      const shifted = new ExactNumber(`${b}${"0".repeat(zeros)}e-${zeros}`);
      expect(compareNumbers(spelled, shifted)).toBe(a < b ? -1 : a > b ? 1 : 0);
      expect(compareNumbers(spelled, new ExactNumber(`${a}`))).toBe(0);
    }),
  );
});

test.each([
  ["1e400", "1e401", -1],
  ["-1e400", "1e400", -1],
  ["1e-400", "0", 1],
  ["-0.0", "0", 0],
  ["1e99999999999", "2e99999999999", -1],
  ["0.1", "0.1000000000000000055511151231257827", -1],
])("%s against %s: %i", (a, b, order) => {
  expect(compareNumbers(new ExactNumber(a), new ExactNumber(b))).toBe(order);
});

test("an exact number beyond the doubles is less than infinity", () => {
  expect(compareNumbers(new ExactNumber("1e400"), Number.POSITIVE_INFINITY)).toBe(-1);
  expect(compareNumbers(Number.NEGATIVE_INFINITY, new ExactNumber("-1e400"))).toBe(-1);
  expect(compareNumbers(Number.NaN, 1)).toBeNaN();
});

test.each([
  [0.5, 0],
  [1.5, 2],
  [-0.5, -0],
  [-1.5, -2],
  [2.4, 2],
  [2.6, 3],
])("%d rounds to %d", (value, rounded) => {
  expect(roundHalfEven(value) + 0).toBe(rounded + 0);
});
