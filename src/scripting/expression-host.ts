/**
 * Scripts that need no sandbox: one-line expressions as rules, and timers written as an ISO 8601
 * duration. Everything else is refused with a message that says what this host understands.
 */
import { LRUCache } from "lru-cache";
import { parseIsoDuration } from "../engine/definition/iso-duration.ts";
import { expressionLocation, type ScriptCode } from "../engine/definition/script-code.ts";
import { StepFailed } from "../engine/task-failure.ts";
import {
  compileExpression,
  evaluateRule,
  type CompiledExpression,
} from "./language/expression/compile-expression.ts";
import { ExpressionError } from "./language/expression/expression-error.ts";
import type { ScriptHost } from "./script-host.ts";

export function createExpressionHost(): ScriptHost {
  const compiled = new LRUCache<string, CompiledExpression>({ max: 5000 });
  const compile = (source: string) => {
    let expression = compiled.get(source);
    if (expression === undefined) {
      expression = compileExpression(source, "rule");
      compiled.set(source, expression);
    }
    return expression;
  };

  return {
    async holds(script, context) {
      if (script.location !== expressionLocation) throw notUnderstood(script, "rule");
      try {
        return evaluateRule(compile(script.code), context);
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error;
        throw failed("Transition:100007", error.message, error);
      }
    },
    async map(script) {
      throw notUnderstood(script, "mapping");
    },
    async schedule(script) {
      const delayMs = parseIsoDuration(script.code.trim().replaceAll(/^["']|["']$/g, ""));
      if (delayMs === undefined || delayMs <= 0) throw notUnderstood(script, "timer");
      return { delayMs };
    },
  };
}

const notUnderstood = ({ location }: ScriptCode, slot: string) =>
  failed(
    "Task:400007",
    `The ${slot} script '${location}' cannot be run: this service runs expressions ('location': '${expressionLocation}') as rules and ISO 8601 durations as timers.`,
  );

const failed = (code: string, message: string, cause?: unknown) =>
  new StepFailed({ code, layer: "Pipeline", message, retryable: false }, { cause });
