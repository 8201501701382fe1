/** The deployment API's own HTTP surface. */
import { addApiDocuments } from "../http/api-documents.ts";
import { createServer, type HttpServer, type ServerOptions } from "../http/create-server.ts";
import { addDeployHealth } from "./health-route.ts";
import type { Deploy } from "./open-deploy.ts";
import { addPackageRoutes, type PackageDefaults } from "./package-routes.ts";
import { addPublishRoute } from "./publish-route.ts";

export interface DeployServerOptions {
  server: ServerOptions;
  /** Throws `StorageUnavailable` until the service has started. */
  deploy: () => Deploy;
  defaults: PackageDefaults;
}

export function createDeployServer({ server, deploy, defaults }: DeployServerOptions): HttpServer {
  const app = createServer(server);
  addApiDocuments(app, {
    title: "Millrace deployment API",
    version: server.appVersion,
    description: "Publish whole packages of components from an npm registry to the runtime.",
  });
  addDeployHealth(app, () => deploy().runtime);
  addPackageRoutes(app, () => deploy().service, defaults);
  addPublishRoute(app, () => deploy().runtime);
  return app;
}
