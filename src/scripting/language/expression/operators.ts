/**
 * What the binary operators make of two values.
 *
 * Null follows C#'s nullable numbers: arithmetic with null is null, `<` and its like are false.
 * Whole numbers are exact up to 2^53 and do not wrap around at 32 bits.
 */
import type { Evaluation } from "./evaluation.ts";
import { commonNumberKind, type Kind } from "./kinds.ts";
import { compareNumbers, isNumber } from "./numbers.ts";
import type { ValueOperator } from "./syntax-tree.ts";
import { describe, equals, payForDigits, textOf } from "./values.ts";

export interface Operation {
  readonly kind: Kind;
  readonly apply: (run: Evaluation, left: unknown, right: unknown) => unknown;
}

export const operations: Record<ValueOperator, (left: Kind, right: Kind) => Operation> = {
  "==": () => ({ kind: "bool", apply: equals }),
  "!=": () => ({ kind: "bool", apply: (run, a, b) => !equals(run, a, b) }),
  "<": () => comparison("<", (order) => order < 0),
  ">": () => comparison(">", (order) => order > 0),
  "<=": () => comparison("<=", (order) => order <= 0),
  ">=": () => comparison(">=", (order) => order >= 0),
  "+": (left, right) =>
    left === "text" || right === "text" ? joining(left, right) : adding(left, right),
  "-": (left, right) => arithmetic("-", [left, right], (a, b) => a - b),
  "*": (left, right) => arithmetic("*", [left, right], (a, b) => a * b),
  "/": (left, right) => dividing("/", [left, right]),
  "%": (left, right) => dividing("%", [left, right]),
  "&": () => logic("&", (a, b) => a && b),
  "|": () => logic("|", (a, b) => a || b),
  "^": () => logic("^", (a, b) => a !== b),
};

/** How a value of that kind becomes text. */
export function textMaker(kind: Kind): (run: Evaluation, value: unknown) => string {
  if (kind !== "bool") return textOf;
  return (run, value) =>
    typeof value === "boolean" ? (value ? "True" : "False") : textOf(run, value);
}

function comparison(operator: ValueOperator, holds: (order: number) => boolean): Operation {
  return {
    kind: "bool",
    apply(run, left, right) {
      if (typeof left === "number" && typeof right === "number") {
        return holds(left < right ? -1 : left > right ? 1 : left === right ? 0 : Number.NaN);
      }
      if (left === null || right === null) return false;
      // By code unit: the order of ISO dates and of keys, on every machine the same.
      if (typeof left === "string" && typeof right === "string") {
        run.spend(Math.min(left.length, right.length));
        return holds(left < right ? -1 : left === right ? 0 : 1);
      }
      if (!isNumber(left) || !isNumber(right)) {
        throw wrongOperands(run, operator, "two numbers or two texts", left, right);
      }
      payForDigits(run, left, right);
      return holds(compareNumbers(left, right));
    },
  };
}

function joining(left: Kind, right: Kind): Operation {
  const [leftText, rightText] = [textMaker(left), textMaker(right)];
  return {
    kind: "text",
    apply(run, a, b) {
      const added = rightText(run, b);
      // What is added is paid for; the engine does not copy the front for it.
      run.spend(added.length);
      return run.fitting(leftText(run, a) + added);
    },
  };
}

function adding(left: Kind, right: Kind): Operation {
  const join = joining(left, right);
  const add = arithmetic("+", [left, right], (a, b) => a + b);
  const unknown = left === "any" || right === "any";
  return {
    kind: unknown ? "any" : add.kind,
    apply: (run, a, b) =>
      (typeof a === "string" || typeof b === "string" ? join : add).apply(run, a, b),
  };
}

function dividing(operator: "/" | "%", kinds: readonly Kind[]): Operation {
  const whole = commonNumberKind(kinds) === "int";
  const compute =
    operator === "%"
      ? (a: number, b: number) => a % b
      : whole
        ? (a: number, b: number) => Math.trunc(a / b)
        : (a: number, b: number) => a / b;
  const divide = arithmetic(operator, kinds, compute);
  if (!whole) return divide;
  return {
    kind: divide.kind,
    apply(run, a, b) {
      if (b === 0) throw run.failure("Attempted to divide by zero.");
      return divide.apply(run, a, b);
    },
  };
}

function arithmetic(
  operator: ValueOperator,
  kinds: readonly Kind[],
  compute: (a: number, b: number) => number,
): Operation {
  return {
    kind: commonNumberKind(kinds),
    apply(run, left, right) {
      if (typeof left === "number" && typeof right === "number") return compute(left, right);
      if (!isNumberOrNull(left) || !isNumberOrNull(right)) {
        throw wrongOperands(run, operator, "two numbers", left, right);
      }
      if (left === null || right === null) return null;
      payForDigits(run, left, right);
      return compute(Number(left), Number(right));
    },
  };
}

const isNumberOrNull = (value: unknown): boolean => value === null || isNumber(value);

function logic(operator: ValueOperator, combine: (a: boolean, b: boolean) => boolean): Operation {
  return {
    kind: "bool",
    apply(run, left, right) {
      if (typeof left === "boolean" && typeof right === "boolean") return combine(left, right);
      throw wrongOperands(run, operator, "two booleans", left, right);
    },
  };
}

const wrongOperands = (
  run: Evaluation,
  operator: ValueOperator,
  wanted: string,
  left: unknown,
  right: unknown,
): Error =>
  run.failure(`'${operator}' takes ${wanted}, not ${describe(left)} and ${describe(right)}.`);
