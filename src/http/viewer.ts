import type { FastifyRequest } from "fastify";
import type { Viewer } from "../runtime/check-roles.ts";
import type { Query } from "./query-string.ts";

/** The caller of a request, as the gates of roles and fields see them. */
export function viewerOf(request: FastifyRequest): Viewer {
  const { caller } = request;
  const query = request.query as Query;
  const transitionKey = query["transitionkey"];
  return {
    roles: caller.roles,
    author: { actor: caller.actor, behalfOf: caller.behalfOf },
    request: {
      // Made when a grant looks at them.
      get headers() {
        return caller.headers;
      },
      query,
      route: request.params as Record<string, string>,
      transitionKey: typeof transitionKey === "string" ? transitionKey : undefined,
    },
  };
}
