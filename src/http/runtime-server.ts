/** The runtime API: every route of the surface, on the server both surfaces share. */
import type { Runtime } from "../runtime/runtime.ts";
import { componentSchemaVersion } from "../service-version.ts";
import { jsonFormat } from "./body-formats.ts";
import { formFormat } from "./form-format.ts";
import { addApiDocuments } from "./api-documents.ts";
import { createServer, type HttpServer, type ServerOptions } from "./create-server.ts";
import { addDefinitionRoutes } from "./definition-routes.ts";
import { addFunctionRoutes } from "./function-routes.ts";
import { addHealthRoutes } from "./health-routes.ts";
import { addLiveRoutes, type LiveOptions } from "./live-routes.ts";
import { addIncidentRoutes } from "./incident-routes.ts";
import { addInstanceRoutes } from "./instance-routes.ts";
import { nodeChecks } from "./node-checks.ts";
import { addTransitionRoutes } from "./transition-routes.ts";
import { serveOnly } from "./served-domain.ts";

export interface RuntimeServerOptions {
  server: ServerOptions;
  /** Throws `StorageUnavailable` until the service has started. */
  runtime: () => Runtime;
  domain: string;
  requireFlowVersion: boolean;
  /** JSON Schemas of the component kinds, by name. */
  schemas: Record<string, object>;
  live: LiveOptions;
}

export function createRuntimeServer(options: RuntimeServerOptions): HttpServer {
  const { server, runtime, domain, requireFlowVersion, schemas } = options;
  const app = createServer({ ...server, bodyFormats: [jsonFormat, formFormat] });
  serveOnly(app, domain);
  addApiDocuments(app, {
    title: "Millrace runtime API",
    version: server.appVersion,
    description:
      "Publish component definitions, drive instances from state to state, read them back.",
  });
  addHealthRoutes(app, {
    version: server.appVersion,
    schemaVersion: componentSchemaVersion,
    domain,
    checks: nodeChecks(runtime),
    ...(server.metrics === undefined ? {} : { metrics: server.metrics }),
  });
  addDefinitionRoutes(app, { runtime, requireFlowVersion, schemas });
  addInstanceRoutes(app, runtime);
  addTransitionRoutes(app, runtime);
  addIncidentRoutes(app, runtime);
  addFunctionRoutes(app, runtime);
  addLiveRoutes(app, runtime, options.live);
  return app;
}
