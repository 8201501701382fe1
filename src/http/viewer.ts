import type { FastifyRequest } from "fastify";
import type { RoleRequest } from "../engine/role-gate.ts";
import type { Viewer } from "../runtime/check-roles.ts";
import type { Caller } from "./caller.ts";
import type { Query } from "./query-string.ts";

/** The caller of a request, as the gates of roles and fields see them. */
export function viewerOf(request: FastifyRequest): Viewer {
  const { caller } = request;
  return {
    roles: caller.roles,
    author: { actor: caller.actor, behalfOf: caller.behalfOf },
    request: new GrantedRequest(request, caller),
  };
}

/** What a grant may look at; a class, so that what is made on demand costs nothing before. */
class GrantedRequest implements RoleRequest {
  readonly query: Query;
  readonly route: Record<string, string>;
  readonly transitionKey: string | undefined;
  readonly #caller: Caller;

  constructor({ query, params }: FastifyRequest, caller: Caller) {
    this.#caller = caller;
    this.query = query as Query;
    this.route = params as Record<string, string>;
    const transitionKey = this.query["transitionkey"];
    this.transitionKey = typeof transitionKey === "string" ? transitionKey : undefined;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#caller.headers;
  }
}
