import { limits, type LogEntry, type LogLevel } from "../contract.ts";
import { hostLog } from "./host-log.ts";
import { textFrom } from "./text.ts";

/**
 * What a script has logged in one call. Bounded: beyond the limits entries are only counted. In the
 * sandbox each line goes out at once, so that it survives whatever ends the call.
 */
export class ScriptLog {
  /** What the host was not told. */
  readonly entries: LogEntry[] = [];
  dropped = 0;
  #count = 0;
  #length = 0;

  write(level: LogLevel, template: unknown, args: readonly unknown[]): void {
    if (this.#count >= limits.logEntries || this.#length >= limits.logTotalLength) {
      this.dropped += 1;
      return;
    }
    const message = shortened(fillTemplate(textFrom(template), args));
    this.#count += 1;
    this.#length += message.length;
    if (hostLog === undefined) this.entries.push({ level, message });
    else hostLog(level, message);
  }
}

const placeholder = /\{\{|\}\}|\{[@$]?\w+(?:,-?\d+)?(?::[^{}]*)?\}/g;

/**
 * `{name}` and `{0}` alike take the arguments in order of appearance, as structured logging does;
 * doubled braces are braces, and a placeholder without an argument stays as it is.
 */
export function fillTemplate(template: string, args: readonly unknown[]): string {
  const values = args.length === 1 && Array.isArray(args[0]) ? (args[0] as unknown[]) : args;
  let next = 0;
  return template.replaceAll(placeholder, (found) => {
    if (found === "{{") return "{";
    if (found === "}}") return "}";
    if (next >= values.length) return found;
    const value = values[next];
    next += 1;
    return argumentText(value);
  });
}

function argumentText(value: unknown): string {
  if (value === null || value === undefined) return "(null)";
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? "(invalid date)" : value.toISOString();
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (typeof value === "symbol") return value.toString();
  if (typeof value !== "object") return textFrom(value);
  try {
    return JSON.stringify(value) ?? "(null)";
  } catch {
    return "(not serialisable)";
  }
}

const shortened = (text: string): string =>
  text.length > limits.logMessageLength ? `${text.slice(0, limits.logMessageLength)}…` : text;
