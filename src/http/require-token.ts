/** With tokens switched on, every request of an API has to bring one that is good. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Problem } from "../engine/problem.ts";
import { problems } from "../engine/problems.ts";
import { isApiPath } from "./api-version.ts";
import { createPeerCheck, setTokenIdentity } from "./caller.ts";
import type { CheckToken } from "./check-token.ts";

export interface TokenOptions {
  check: CheckToken;
  /** A request without a token is let in as nobody. One with a bad token never is. */
  allowAnonymous: boolean;
  /** These need no token; without one their identity headers are believed. */
  peersWithout: readonly string[];
}

export function requireTokens(app: FastifyInstance, options: TokenOptions): void {
  const { check, allowAnonymous } = options;
  const needsNone = createPeerCheck(options.peersWithout);
  app.addHook("onRequest", async (request, reply) => {
    // By the route, not by the address: `/%61pi/` leads to the same route as `/api/`.
    if (!isApiPath(request.routeOptions.url ?? "")) return;
    const { authorization } = request.headers;
    const mayComeWithout = allowAnonymous || needsNone(request.raw.socket);
    if (authorization === undefined && mayComeWithout) return;
    try {
      setTokenIdentity(request, await check(tokenIn(authorization)));
    } catch (error) {
      if (error instanceof Problem) challenge(error, request, reply);
      throw error;
    }
  });
}

const bearer = /^Bearer +([\w~+/.=-]+)$/i;

function tokenIn(authorization: string | undefined): string {
  const token = bearer.exec(authorization ?? "")?.[1];
  if (token !== undefined) return token;
  throw authorization === undefined
    ? problems.tokenMissing({})
    : problems.tokenInvalid({ reason: "is not of the form 'Bearer <token>'" });
}

/** RFC 6750: what is asked for, and what was wrong with what was given. */
function challenge({ status, message }: Problem, { headers }: FastifyRequest, reply: FastifyReply) {
  if (status !== 401) return;
  const realm = 'Bearer realm="millrace"';
  const wrong = `, error="invalid_token", error_description="${message.replaceAll('"', "'")}"`;
  reply.header("www-authenticate", headers.authorization === undefined ? realm : realm + wrong);
}
