/**
 * Scripts that need no sandbox: one-line expressions as rules, and timers that are an ISO 8601
 * duration or instant, or an expression that yields one.
 */
import { LRUCache } from "lru-cache";
import { expressionLocation, type ScriptCode } from "../engine/definition/script-code.ts";
import { StepFailed } from "../engine/task-failure.ts";
import {
  compileExpression,
  evaluateKey,
  evaluateRule,
  type CompiledExpression,
  type ExpressionUse,
} from "./language/expression/compile-expression.ts";
import type { ExpressionContext } from "./language/expression/expression-context.ts";
import { ExpressionError } from "./language/expression/expression-error.ts";
import { readMomentText } from "./schedule.ts";
import type { Schedule, ScriptFindings } from "./script-host.ts";

export interface Expressions {
  holds(code: string, context: ExpressionContext): boolean;
  /** A text: the key of something cached. */
  key(code: string, context: ExpressionContext): string;
  /** Undefined for a timer that is a script of another language. */
  schedule(script: ScriptCode, context: () => ExpressionContext): Schedule | undefined;
  check(code: string): ScriptFindings;
  /** Whether the text is a duration or an instant by itself. */
  isMoment(code: string): boolean;
}

export function createExpressions(): Expressions {
  const compiled = new LRUCache<string, CompiledExpression>({ max: 5000 });
  const compile = (source: string, use: ExpressionUse | undefined) => {
    const id = `${use} ${source}`;
    let expression = compiled.get(id);
    if (expression === undefined) {
      expression = compileExpression(source, use);
      compiled.set(id, expression);
    }
    return expression;
  };

  return {
    holds(code, context) {
      try {
        return evaluateRule(compile(code, "rule"), context);
      } catch (error) {
        throw asFailure(error);
      }
    },
    key(code, context) {
      try {
        return evaluateKey(compile(code, "key"), context);
      } catch (error) {
        throw asFailure(error);
      }
    },
    schedule(script, context) {
      const written = readMomentText(unquoted(script.code));
      if (written !== undefined) return written;
      if (script.location.toLowerCase() !== expressionLocation.toLowerCase()) return undefined;
      try {
        const value = evaluateKey(compile(script.code, "key"), context());
        const computed = readMomentText(value);
        if (computed !== undefined) return computed;
        throw failed(
          "Task:400007",
          `The timer '${shortened(script.code)}' yields '${shortened(value)}', which is neither an ISO 8601 duration such as PT30M nor an instant such as 2026-01-31T09:00:00Z.`,
        );
      } catch (error) {
        throw asFailure(error);
      }
    },
    isMoment: (code) => readMomentText(unquoted(code)) !== undefined,
    check(code) {
      try {
        compile(code, undefined);
        return { mistakes: [], warnings: [] };
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error;
        return { mistakes: [error.message], warnings: [] };
      }
    },
  };
}

const unquoted = (code: string) => code.trim().replaceAll(/^["']|["']$/g, "");

const shortened = (text: string) => (text.length > 100 ? `${text.slice(0, 100)}…` : text);

const asFailure = (error: unknown) =>
  error instanceof ExpressionError ? failed("Transition:100007", error.message, error) : error;

const failed = (code: string, message: string, cause?: unknown) =>
  new StepFailed({ code, layer: "Pipeline", message, retryable: false }, { cause });
