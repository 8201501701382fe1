/**
 * Running other people's scripts: the port the runtime uses. Each method answers with JSON or throws
 * `StepFailed` with the script's own message; nothing of the host is reachable from a script.
 */
import type { Reference } from "../engine/definition/reference.ts";
import type { ScriptCode } from "../engine/definition/script-code.ts";
import type { JsonValue } from "../engine/exact-json.ts";
import type { ContextMember, HandlerKind, LogLevel, ScriptAnswer, ScriptCall } from "./contract.ts";
import type { ExpressionContext } from "./language/expression/expression-context.ts";

/** What a script will see, in the form its language takes; only what it uses is made. */
export interface ContextSource {
  /** For expressions: plain values. */
  values(): ExpressionContext;
  /** Reads beforehand what of these members has to be read; undefined when there is nothing to read. */
  prepare?(members: readonly ContextMember[]): Promise<void> | undefined;
  /** JSON text of one member of the context; undefined where there is none. */
  json(member: ContextMember): string | undefined;
  /** On whose behalf the script runs, for its log: the instance, its workflow, the transition. */
  readonly origin?: Readonly<Record<string, string>>;
}

/** What a script logs. Secrets are taken out. */
export interface ScriptLogLine {
  readonly script: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly origin: Readonly<Record<string, string>>;
}

export interface ScriptRequest {
  readonly script: ScriptCode;
  /** Helpers that hold for every script of the owner, beside the script's own. */
  readonly helpers: readonly Reference[];
  readonly context: ContextSource;
  readonly signal?: AbortSignal | undefined;
}

/** Arguments beside the context, by handler kind. */
export type ScriptArguments = Pick<ScriptCall, "task" | "channel" | "item" | "result">;

/** When a scheduled transition fires: after a while, or at an instant. */
export type Schedule = { delayMs: number } | { dueAt: Date };

/** What is wrong with a script, or doubtful about it. */
export interface ScriptFindings {
  readonly mistakes: readonly string[];
  readonly warnings: readonly string[];
}

export interface ScriptHost {
  /** A condition: the rule of an automatic transition, or of a schema or view slot. */
  holds(request: ScriptRequest): Promise<boolean>;
  /** A transition's mapping: the payload as it shall be merged and recorded. */
  map(request: ScriptRequest): Promise<JsonValue | undefined>;
  schedule(request: ScriptRequest): Promise<Schedule>;
  /** Any other handler. */
  run(kind: HandlerKind, request: ScriptRequest, args?: ScriptArguments): Promise<ScriptAnswer>;
  /** Whether the script of a slot compiles; asked at publish, and remembered for the first call. */
  check(script: ScriptCode, helpers: readonly Reference[]): Promise<ScriptFindings>;
  close(): Promise<void>;
}
