import type { FastifyRequest } from "fastify";
import { maskedHeaders } from "../engine/mask-secrets.ts";
import type { Asker } from "../runtime/asker.ts";
import type { Viewer } from "../runtime/check-roles.ts";
import { withRoleParameter } from "./caller.ts";
import { parseQueryAsSent, type Query } from "./query-string.ts";
import { requestContextOf } from "./request-context.ts";
import { viewerOf } from "./viewer.ts";

/** The caller of a read or of a function, with what their request says. */
export const askerOf = (request: FastifyRequest): Asker => new RequestAsker(request);

/** A class, so that what is made on demand costs nothing before: only scripts look at most of it. */
class RequestAsker implements Asker {
  readonly viewer: Viewer;
  readonly #request: FastifyRequest;
  #headers: Record<string, string> | undefined;
  #query: Query | undefined;

  constructor(request: FastifyRequest) {
    const role = (request.query as Query)["role"];
    const { author, request: looked } = viewerOf(request);
    const named = Array.isArray(role) ? role.join(",") : role;
    this.viewer = { author, request: looked, roles: withRoleParameter(request.caller, named) };
    this.#request = request;
  }

  get query(): Query {
    if (this.#query !== undefined) return this.#query;
    const { originalUrl } = this.#request;
    const mark = originalUrl.indexOf("?");
    return (this.#query = mark === -1 ? {} : parseQueryAsSent(originalUrl.slice(mark + 1)));
  }

  get headers(): Record<string, string> {
    return (this.#headers ??= maskedHeaders(this.#request.caller.headers));
  }

  get route(): Record<string, string> {
    return this.#request.params as Record<string, string>;
  }

  get rawBody(): string | undefined {
    return this.#request.rawBody?.toString("utf8");
  }

  get language(): string | undefined {
    return this.#request.headers["accept-language"];
  }

  get traceId(): string {
    return requestContextOf(this.#request.raw).trace.traceId;
  }

  get triggerDepth(): number {
    return this.#request.caller.triggerDepth;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }
}
