import type { FastifyRequest } from "fastify";
import { maskedHeaders } from "../engine/mask-secrets.ts";
import type { Asker } from "../runtime/asker.ts";
import { withRoleParameter } from "./caller.ts";
import { parseQueryAsSent, type Query } from "./query-string.ts";
import { requestContextOf } from "./request-context.ts";
import { viewerOf } from "./viewer.ts";

/** The caller of a read or of a function, with what their request says. */
export function askerOf(request: FastifyRequest): Asker {
  const { caller, originalUrl, rawBody } = request;
  const role = (request.query as Query)["role"];
  const viewer = viewerOf(request);
  const roles = withRoleParameter(caller, [role ?? []].flat().join(","));
  const mark = originalUrl.indexOf("?");
  let headers: Record<string, string> | undefined;
  return {
    viewer: { author: viewer.author, request: viewer.request, roles },
    // Made when a script looks at them.
    get headers() {
      return (headers ??= maskedHeaders(caller.headers));
    },
    query: mark === -1 ? {} : parseQueryAsSent(originalUrl.slice(mark + 1)),
    route: request.params as Record<string, string>,
    rawBody: rawBody?.toString("utf8"),
    language: request.headers["accept-language"],
    traceId: requestContextOf(request.raw).trace.traceId,
    triggerDepth: caller.triggerDepth,
    get signal() {
      return request.signal;
    },
  };
}
