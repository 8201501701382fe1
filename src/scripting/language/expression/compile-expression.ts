/**
 * The expression language of `location: "dynamicExpresso"` slots: one C#-like expression over one
 * variable, `context`. Pure and closed: no loops, no clock, no host objects, bounded work.
 *
 * Beyond what the scripting contract says, decided here:
 * - A number is never equal to a text; `<` compares two numbers, or two texts by code unit.
 * - `/` is whole-number division when both sides are known to be whole before the expression runs
 *   (literals, AsInt32(), AsArrayLength(), Convert.ToInt32() and what is computed from those). A
 *   JSON number computes as a double.
 * - Members of `context` are found in any letter case, like JSON members; method names and types
 *   are spelled as in C#.
 */
import { createCompiler } from "./compile-node.ts";
import { Evaluation } from "./evaluation.ts";
import { compileError, evaluationError, ExpressionError } from "./expression-error.ts";
import type { ExpressionContext } from "./expression-context.ts";
import type { Kind } from "./kinds.ts";
import { parse } from "./parse.ts";
import { describe } from "./values.ts";

export const maxExpressionLength = 8000;

/** A rule answers a boolean, a key a text; each is checked at compile time as far as it shows. */
export type ExpressionUse = "rule" | "key";

export interface CompiledExpression {
  readonly source: string;
  /** Throws `ExpressionError` and nothing else. */
  evaluate(context: ExpressionContext): unknown;
}

/** Throws `ExpressionError` and nothing else. Without a use, both kinds of result are allowed. */
export function compileExpression(source: string, use?: ExpressionUse): CompiledExpression {
  const length = source.trim().length;
  if (length === 0) throw compileError(source, 0, "The expression is empty.");
  if (length > maxExpressionLength) {
    const sentence = `The expression has ${length} characters; ${maxExpressionLength} are allowed.`;
    throw compileError(source, 0, sentence);
  }
  const { step, kind } = createCompiler(source, use !== "rule").value(parse(source));
  if (use !== undefined && kind !== "any" && kind !== resultKinds[use]) {
    const sentence = `A ${use} answers a ${kindNames[resultKinds[use]]}; this is a ${kindNames[kind]}.`;
    throw compileError(source, 0, sentence);
  }
  return {
    source,
    evaluate(context) {
      const run = new Evaluation(context, source);
      try {
        const value = step(run);
        return typeof value === "string" ? run.fitting(value) : value;
      } catch (error) {
        if (error instanceof ExpressionError) throw error;
        // Only a context that is not JSON gets here (a cycle, a throwing getter).
        throw run.failure("The context holds a value that is not JSON.", { cause: error });
      }
    },
  };
}

const resultKinds: Record<ExpressionUse, Kind> = { rule: "bool", key: "text" };
const kindNames: Record<Kind, string> = {
  int: "number",
  real: "number",
  bool: "boolean",
  text: "text",
  any: "value",
};

export function evaluateRule(expression: CompiledExpression, context: ExpressionContext): boolean {
  const value = expression.evaluate(context);
  if (typeof value === "boolean") return value;
  throw evaluationError(
    expression.source,
    0,
    `A rule answers true or false, not ${describe(value)}.`,
  );
}

export function evaluateKey(expression: CompiledExpression, context: ExpressionContext): string {
  const value = expression.evaluate(context);
  if (typeof value === "string") return value;
  throw evaluationError(
    expression.source,
    0,
    `A key is a text, not ${describe(value)}. Add .ToString().`,
  );
}
