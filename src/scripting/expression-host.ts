/**
 * Scripts that need no sandbox: one-line expressions as rules, and timers that are an ISO 8601
 * duration or instant, or an expression that yields one. Everything else is refused with a message
 * that says what this host understands.
 */
import { LRUCache } from "lru-cache";
import { parseIsoDuration } from "../engine/definition/iso-duration.ts";
import { expressionLocation, type ScriptCode } from "../engine/definition/script-code.ts";
import { readInstant } from "../engine/instance-query/instant.ts";
import { StepFailed } from "../engine/task-failure.ts";
import {
  compileExpression,
  evaluateKey,
  evaluateRule,
  type CompiledExpression,
  type ExpressionUse,
} from "./language/expression/compile-expression.ts";
import { ExpressionError } from "./language/expression/expression-error.ts";
import type { Schedule, ScriptHost } from "./script-host.ts";

export function createExpressionHost(): ScriptHost {
  const compiled = new LRUCache<string, CompiledExpression>({ max: 5000 });
  const compile = (source: string, use: ExpressionUse) => {
    const id = `${use} ${source}`;
    let expression = compiled.get(id);
    if (expression === undefined) {
      expression = compileExpression(source, use);
      compiled.set(id, expression);
    }
    return expression;
  };

  return {
    async holds(script, context) {
      if (script.location !== expressionLocation) throw notUnderstood(script, "rule");
      try {
        return evaluateRule(compile(script.code, "rule"), context);
      } catch (error) {
        throw asFailure(error);
      }
    },
    async map(script) {
      throw notUnderstood(script, "mapping");
    },
    async schedule(script, context) {
      const text = script.code.trim().replaceAll(/^["']|["']$/g, "");
      const written = parseMoment(text);
      if (written !== undefined) return written;
      if (script.location !== expressionLocation) throw notUnderstood(script, "timer");
      try {
        const value = evaluateKey(compile(script.code, "key"), context);
        const computed = parseMoment(value);
        if (computed !== undefined) return computed;
        throw failed(
          "Task:400007",
          `The timer '${shortened(script.code)}' yields '${shortened(value)}', which is neither an ISO 8601 duration such as PT30M nor an instant such as 2026-01-31T09:00:00Z.`,
        );
      } catch (error) {
        throw asFailure(error);
      }
    },
  };
}

/** A duration or an instant; what is not in the future is due at once. */
function parseMoment(text: string): Schedule | undefined {
  const delayMs = parseIsoDuration(text);
  if (delayMs !== undefined) return { delayMs };
  const instant = readInstant(text);
  return instant === undefined ? undefined : { dueAt: new Date(instant) };
}

const shortened = (text: string) => (text.length > 100 ? `${text.slice(0, 100)}…` : text);

const asFailure = (error: unknown) =>
  error instanceof ExpressionError ? failed("Transition:100007", error.message, error) : error;

const notUnderstood = ({ location }: ScriptCode, slot: string) =>
  failed(
    "Task:400007",
    `The ${slot} script '${location}' cannot be run: this service runs expressions ('location': '${expressionLocation}') as rules, and ISO 8601 durations or instants, or expressions that yield one, as timers.`,
  );

const failed = (code: string, message: string, cause?: unknown) =>
  new StepFailed({ code, layer: "Pipeline", message, retryable: false }, { cause });
