/** For a node without an API, a worker: what machines ask of every node, and nothing else. */
import type { Runtime } from "../runtime/runtime.ts";
import { componentSchemaVersion } from "../service-version.ts";
import { createServer, type HttpServer, type ServerOptions } from "./create-server.ts";
import { addHealthRoutes } from "./health-routes.ts";
import { nodeChecks } from "./node-checks.ts";

export interface OperationsServerOptions {
  server: ServerOptions;
  /** Throws `StorageUnavailable` until the service has started. */
  runtime: () => Runtime;
  domain: string;
}

export function createOperationsServer(options: OperationsServerOptions): HttpServer {
  const { server, runtime, domain } = options;
  const app = createServer(server);
  addHealthRoutes(app, {
    version: server.appVersion,
    schemaVersion: componentSchemaVersion,
    domain,
    checks: nodeChecks(runtime),
    ...(server.metrics === undefined ? {} : { metrics: server.metrics }),
  });
  return app;
}
