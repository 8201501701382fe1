import type { FastifyRequest } from "fastify";

/**
 * The caller, for the runtime: their own token where they sent one, else whom this service believes
 * them to be. The runtime believes this service, so it gets nothing that this service does not.
 */
export function identityOf({ caller, headers }: FastifyRequest): Readonly<Record<string, string>> {
  const { authorization } = headers;
  const { actor, behalfOf, roles } = caller;
  return {
    ...(authorization === undefined ? {} : { authorization }),
    ...(actor === undefined ? {} : { act_sub: actor }),
    ...(behalfOf === undefined ? {} : { sub: behalfOf }),
    ...(roles.length === 0 ? {} : { role: roles.join(",") }),
  };
}
