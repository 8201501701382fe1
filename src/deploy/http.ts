/** The deployment API's own HTTP surface. */
import { createServer, type HttpServer, type ServerOptions } from "../http/create-server.ts";
import { addDeployHealth } from "../http/health-routes.ts";

export function createDeployServer(options: ServerOptions): HttpServer {
  const app = createServer(options);
  addDeployHealth(app);
  return app;
}
