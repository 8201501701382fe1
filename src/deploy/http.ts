/** The deployment API's own HTTP surface. */
import { addApiDocuments } from "../http/api-documents.ts";
import { createServer, type HttpServer, type ServerOptions } from "../http/create-server.ts";
import { addHealthRoutes, type HealthRoutesOptions } from "../http/health-routes.ts";
import { componentSchemaVersion } from "../service-version.ts";
import { addDeployHealth } from "./health-route.ts";
import type { Deploy } from "./open-deploy.ts";
import { addPackageRoutes, type PackageDefaults } from "./package-routes.ts";
import { addPublishRoute } from "./publish-route.ts";

export interface DeployServerOptions {
  server: ServerOptions;
  /** Throws `StorageUnavailable` until the service has started. */
  deploy: () => Deploy;
  defaults: PackageDefaults;
  checks: HealthRoutesOptions["checks"];
}

export function createDeployServer(options: DeployServerOptions): HttpServer {
  const { server, deploy, defaults, checks } = options;
  const app = createServer(server);
  addApiDocuments(app, {
    title: "Millrace deployment API",
    version: server.appVersion,
    description: "Publish whole packages of components from an npm registry to the runtime.",
  });
  addHealthRoutes(app, {
    version: server.appVersion,
    schemaVersion: componentSchemaVersion,
    checks,
    hasOwnHealth: true,
    ...(server.metrics === undefined ? {} : { metrics: server.metrics }),
  });
  addDeployHealth(app, () => deploy().runtime);
  addPackageRoutes(app, () => deploy().service, defaults);
  addPublishRoute(app, () => deploy().runtime);
  return app;
}
