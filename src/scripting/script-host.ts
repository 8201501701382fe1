/**
 * Running other people's scripts: the port the runtime uses. Each method answers with JSON or throws
 * `StepFailed` with the script's own message; nothing of the host is reachable from a script.
 */
import type { ScriptCode } from "../engine/definition/script-code.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import type { ExpressionContext } from "./language/expression/expression-context.ts";

export type ScriptContext = ExpressionContext;

/** When a scheduled transition fires: after a while, or at an instant. */
export type Schedule = { delayMs: number } | { dueAt: Date };

export interface ScriptHost {
  /** A condition: the rule of an automatic transition, or of a schema or view slot. */
  holds(script: ScriptCode, context: ScriptContext): Promise<boolean>;
  /** A transition's mapping: the payload as it shall be merged and recorded. */
  map(script: ScriptCode, context: ScriptContext): Promise<JsonValue | undefined>;
  schedule(script: ScriptCode, context: ScriptContext): Promise<Schedule>;
}
