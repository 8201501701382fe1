/**
 * The logger of one request: names the request, and the instance it is about, in every line. Most
 * requests log nothing of their own, so pino's child is made when the first line is written.
 */
import type { FastifyBaseLogger } from "fastify";
import type { IncomingMessage } from "node:http";
import { requestContextOf } from "./request-context.ts";

type Write = FastifyBaseLogger["info"];
type Arguments = Parameters<Write>;

export class RequestLog {
  readonly #base: FastifyBaseLogger;
  readonly #raw: IncomingMessage;
  #child: FastifyBaseLogger | undefined;
  /** Set once the route is known. */
  params: unknown;

  constructor(base: FastifyBaseLogger, raw: IncomingMessage) {
    this.#base = base;
    this.#raw = raw;
  }

  get level(): string {
    return this.#base.level;
  }

  set level(level: string) {
    this.#made.level = level;
  }

  get #made(): FastifyBaseLogger {
    return (this.#child ??= this.#base.child(bindingsOf(this.#raw, this.params)));
  }

  child(...given: Parameters<FastifyBaseLogger["child"]>): FastifyBaseLogger {
    return this.#made.child(...given);
  }
  fatal(...line: Arguments): void {
    this.#made.fatal(...line);
  }
  error(...line: Arguments): void {
    this.#made.error(...line);
  }
  warn(...line: Arguments): void {
    this.#made.warn(...line);
  }
  info(...line: Arguments): void {
    this.#made.info(...line);
  }
  debug(...line: Arguments): void {
    this.#made.debug(...line);
  }
  trace(...line: Arguments): void {
    this.#made.trace(...line);
  }
  silent(): void {}
}

/** The fields every line of a request has. */
export function bindingsOf(raw: IncomingMessage, params: unknown): Record<string, unknown> {
  const { requestId, trace } = requestContextOf(raw);
  const bindings: Record<string, unknown> = { requestId, traceId: trace.traceId };
  const { domain, workflow, instance } = (params ?? {}) as Record<string, unknown>;
  if (domain !== undefined) bindings["domain"] = domain;
  if (workflow !== undefined) bindings["workflow"] = workflow;
  if (instance !== undefined) bindings["instance"] = instance;
  return bindings;
}
