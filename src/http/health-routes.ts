/** What machines ask: is it alive, is it ready, which version, which figures. No log line, no caller. */
import { metricsContentType, type Metrics } from "../metrics.ts";
import type { HttpServer } from "./create-server.ts";
import { createProbe, type HealthCheck } from "./health-check.ts";

export interface HealthRoutesOptions {
  version: string;
  /** The component schema level this service implements. */
  schemaVersion: string;
  /** The one domain served; empty when every domain is. */
  domain?: string;
  checks: readonly HealthCheck[];
  metrics?: Metrics;
  /** The surface has a `/health` of its own. */
  hasOwnHealth?: boolean;
}

// Schemas as they are: loading TypeBox at run time would cost the start more than the whole server.
const text = { type: "string" } as const;

const HealthOutput = {
  $id: "HealthOutput",
  type: "object",
  required: ["status", "duration", "version", "info"],
  properties: {
    status: { enum: ["Healthy", "Unhealthy"] },
    duration: { ...text, examples: ["00:00:00.0012"] },
    domain: text,
    version: text,
    info: {
      type: "array",
      items: {
        type: "object",
        required: ["key", "duration", "status", "tags", "data"],
        properties: {
          key: text,
          duration: text,
          status: text,
          tags: { type: "array", items: text },
          data: { type: "object" },
          description: text,
          error: text,
        },
      },
    },
  },
} as const;

const VersionOutput = {
  type: "object",
  required: ["version", "schemaVersion", "service"],
  properties: {
    version: text,
    schemaVersion: { ...text, description: "component schema level" },
    service: text,
  },
} as const;

const tags = ["operations"];
const config = { quiet: true };

export function addHealthRoutes(app: HttpServer, options: HealthRoutesOptions): void {
  const { version, schemaVersion, domain = "", metrics } = options;
  const probe = createProbe(options.checks);
  app.addSchema(HealthOutput);
  const probes = [
    { url: "/health", summary: "All health checks", tag: undefined },
    { url: "/ready", summary: "Can it answer requests?", tag: "ready" },
    { url: "/live", summary: "Is the process alive?", tag: "live" },
  ] as const;
  for (const { url, summary, tag } of probes) {
    if (tag === undefined && options.hasOwnHealth === true) continue;
    const response = { 200: { $ref: "HealthOutput#" }, 503: { $ref: "HealthOutput#" } };
    app.get(url, { config, schema: { summary, tags, response } }, async (_request, reply) => {
      const { status, duration, info } = await probe(tag);
      const served = domain === "" ? {} : { domain };
      return reply
        .status(status === "Healthy" ? 200 : 503)
        .header("cache-control", "no-store")
        .send({ status, duration, ...served, version, info });
    });
  }

  app.get(
    "/version",
    { config, schema: { summary: "Versions", tags, response: { 200: VersionOutput } } },
    () => ({ version, schemaVersion, service: "millrace" }),
  );
  if (metrics !== undefined) addMetricsRoute(app, metrics);
}

function addMetricsRoute(app: HttpServer, metrics: Metrics): void {
  app.get(
    "/metrics",
    { config, schema: { summary: "Figures for Prometheus", tags } },
    async (_request, reply) => reply.type(metricsContentType).send(await metrics.text()),
  );
}
