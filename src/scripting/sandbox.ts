/**
 * Running code that other people wrote: the port. JSON text goes in, JSON text comes out, and nothing
 * of the host is reachable from inside.
 *
 * What every sandbox promises:
 *  - a call ends: with an answer, with the script's own error, or at a limit, never later than the
 *    time limit and a moment;
 *  - a limit is final: no `catch` or `finally` of the script survives it;
 *  - a call finds the module as its top level left it, whatever earlier calls did to it;
 *  - a script that misbehaves takes time from its own callers, not from other scripts'.
 */
import type { LogLine } from "./log-line.ts";

export interface Sandbox {
  /**
   * Makes a script ready to be called. One compilation per `script.id`, however many callers ask at
   * once. Throws `ScriptSyntaxError` for what does not compile. What the module's top level throws is
   * not a syntax error: it fails the calls, with its own message.
   */
  compile(script: SandboxScript): Promise<void>;

  /**
   * Runs a handler of the module's class or one of its exported functions, compiling first if nobody
   * has. Rejects with `ScriptFailed`, with `ScriptSyntaxError`, or with the signal's reason.
   */
  call(call: SandboxCall): Promise<SandboxAnswer>;

  /** Stops what runs. Calls that were not answered fail. */
  close(): Promise<void>;
}

export interface SandboxScript {
  /** Content hash of everything below: two scripts with one id are the same script. */
  readonly id: string;
  /** JavaScript module text; types are stripped already. */
  readonly source: string;
  /** Where the script stands, for messages. */
  readonly name: string;
  /** Modules the script can import by name. Their exports are globals of the script as well. */
  readonly helpers: readonly SandboxHelper[];
}

export interface SandboxHelper {
  readonly name: string;
  readonly source: string;
}

export interface SandboxCall {
  readonly script: SandboxScript;
  /** `InputHandler`, `Handler` … */
  readonly handler: string;
  /** JSON text of the array of arguments, as the prelude's `invoke` wants them. */
  readonly args: string;
  readonly limits?: Partial<SandboxLimits>;
  readonly signal?: AbortSignal;
}

export interface SandboxLimits {
  /** From the moment the call starts to run; the wait for a free worker is not counted. */
  readonly timeMs: number;
  /** What the call may use on top of the loaded script. */
  readonly memoryBytes: number;
  /** UTF-8 bytes of the answer. */
  readonly outputBytes: number;
  readonly stackBytes: number;
}

export const defaultLimits: SandboxLimits = {
  timeMs: 1000,
  memoryBytes: 32 * 1024 * 1024,
  outputBytes: 1024 * 1024,
  stackBytes: 512 * 1024,
};

export interface SandboxAnswer {
  /** JSON text, checked to be JSON. */
  readonly value: string;
  readonly logs: readonly LogLine[];
  readonly tookMs: number;
}

export type ScriptFailureKind = "threw" | "timeout" | "memory" | "output" | "stack" | "crashed";

/** Where in the author's text, counted from 1. */
export interface ScriptPosition {
  readonly line: number;
  readonly column: number;
}

/** What is known about a failed call; `message` is the script's own where it has one. */
export interface ScriptFailure {
  readonly kind: ScriptFailureKind;
  readonly message: string;
  /** The script, or the helper in which it happened. */
  readonly scriptName: string;
  /** `TypeError`, or the name of the author's own class; empty when no error was thrown. */
  readonly errorName?: string | undefined;
  readonly position?: ScriptPosition | undefined;
  readonly logs?: readonly LogLine[];
}

export class ScriptFailed extends Error {
  override readonly name = "ScriptFailed";
  readonly kind: ScriptFailureKind;
  readonly scriptName: string;
  readonly errorName: string;
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** What the script had logged until then. */
  readonly logs: readonly LogLine[];

  constructor(failure: ScriptFailure) {
    super(failure.message);
    this.kind = failure.kind;
    this.scriptName = failure.scriptName;
    this.errorName = failure.errorName ?? "";
    this.line = failure.position?.line;
    this.column = failure.position?.column;
    this.logs = failure.logs ?? [];
  }
}

/** A script that does not compile. */
export class ScriptSyntaxError extends Error {
  override readonly name = "ScriptSyntaxError";
  readonly scriptName: string;
  readonly line: number | undefined;
  readonly column: number | undefined;

  constructor(message: string, scriptName: string, position?: ScriptPosition) {
    super(message);
    this.scriptName = scriptName;
    this.line = position?.line;
    this.column = position?.column;
  }
}
