import type { FastifyInstance, FastifyRequest } from "fastify";
import { problems } from "../engine/problems.ts";

/** A runtime that serves one domain refuses all others, on every route that names one. */
export function serveOnly(app: FastifyInstance, served: string): void {
  if (served === "") return;
  app.addHook("preValidation", (request: FastifyRequest, _reply, done) => {
    const { domain } = request.params as { domain?: string };
    const isOther = domain !== undefined && domain !== served;
    done(isOther ? problems.wrongDomain({ domain, served }) : undefined);
  });
}
