/** The routes of a server as they were added: what the API document is made of, and what 405 knows. */
import type { FastifyContextConfig, FastifyInstance, FastifySchema } from "fastify";

export interface Route {
  method: string;
  url: string;
  schema: FastifySchema | undefined;
  config: FastifyContextConfig | undefined;
}

/** Call before the first route is added; the list fills as routes arrive. */
export function listRoutes(app: FastifyInstance): readonly Route[] {
  const routes: Route[] = [];
  app.addHook("onRoute", ({ method, url, schema, config }) => {
    for (const name of [method].flat()) routes.push({ method: name, url, schema, config });
  });
  return routes;
}
