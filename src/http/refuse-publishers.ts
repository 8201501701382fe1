/**
 * Who may publish. A definition is code that runs here and sees all data, so where callers are many,
 * publishing is for few: on both surfaces, with everything that leads to it.
 */
import type { FastifyInstance } from "fastify";
import { problems } from "../engine/problems.ts";

const publishes = /^\/api\/(?:v1\/definitions|package)\//;

/** `roles`: a caller needs one of them. None: everybody may. */
export function refusePublishers(app: FastifyInstance, roles: readonly string[]): void {
  if (roles.length === 0) return;
  const wanted = new Set(roles.map((role) => role.toLowerCase()));
  app.addHook("onRequest", (request, _reply, done) => {
    // By the route, not by the address: `/%61pi/` leads to the same route as `/api/`.
    const mayCall =
      !publishes.test(request.routeOptions.url ?? "") ||
      request.caller.roles.some((role) => wanted.has(role.toLowerCase()));
    done(mayCall ? undefined : problems.roleDenied({ what: "publishing" }));
  });
}
