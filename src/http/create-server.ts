/**
 * The HTTP server both surfaces are built on. It owns everything that is the same for every route:
 * headers, limits, content types, errors, compression, logs and figures. Routes are added to what it
 * returns, and never have a `try`.
 */
import cors from "@fastify/cors";
import fastify, { type FastifyBaseLogger, type FastifyInstance } from "fastify";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { problems } from "../engine/problems.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { admitRequest, stamp, stampAll } from "./admit-request.ts";
import { allowedMethods } from "./allowed-methods.ts";
import { toShortVersion } from "./api-version.ts";
import { addBodyFormats, jsonFormat, type BodyFormat } from "./body-formats.ts";
import { addCaller } from "./caller.ts";
import { createClientErrorHandler } from "./client-error.ts";
import { gzipResponse } from "./gzip-response.ts";
import { addListeners } from "./listen.ts";
import { createNodeServer } from "./node-server.ts";
import { observeRequests } from "./observe-requests.ts";
import { pathOf, sendProblem, type ProblemSettings } from "./problem-response.ts";
import { parseQuery } from "./query-string.ts";
import { requestContextOf } from "./request-context.ts";
import { refuseForeignPages } from "./refuse-foreign-pages.ts";
import { refusePublishers } from "./refuse-publishers.ts";
import { RequestLog } from "./request-log.ts";
import { requireTokens, type TokenOptions } from "./require-token.ts";
import { listRoutes, type Route } from "./route-list.ts";
import { defaultLimits, type ServerLimits } from "./server-limits.ts";
import type { TypeBoxProvider } from "./typebox-provider.ts";
import { validateRequests } from "./validate-request.ts";

export interface ServerOptions {
  appVersion: string;
  log: Log;
  /** Level of the one line per answered request. */
  requestLogLevel?: "debug" | "info" | "silent";
  metrics?: Metrics;
  /** Start of the `type` address of problems. */
  errorTypeBase?: string;
  limits?: Partial<ServerLimits>;
  /** Browsers of these origins may call; `*` means any. None by default. */
  cors?: { origins: readonly string[] };
  /** For a service that knows its callers by where they are: see `refuse-foreign-pages.ts`. */
  refusesForeignPages?: boolean;
  /** Whose identity headers are believed, see `caller.ts`. */
  trustedPeers?: readonly string[];
  /** Who may publish definitions and packages; everybody by default. */
  publishRoles?: readonly string[];
  /** Callers prove who they are with a token; without this, by headers. */
  tokens?: TokenOptions;
  /** What bodies may be; JSON only by default. */
  bodyFormats?: readonly BodyFormat[];
  trustProxy?: boolean | string | string[];
}

export type HttpServer = FastifyInstance<
  Server,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxProvider
>;

declare module "fastify" {
  interface FastifyInstance {
    /** Every route added so far, in order. */
    readonly routeList: readonly Route[];
  }
}

export function createServer(options: ServerOptions): HttpServer {
  const { appVersion, log } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const errorTypeBase = (options.errorTypeBase ?? "https://httpstatuses.com").replace(/\/+$/, "");
  const formats = options.bodyFormats ?? [jsonFormat];
  const problemSettings: ProblemSettings = {
    errorTypeBase,
    limits,
    acceptedContentTypes: formats.map((format) => format.name),
  };

  const onClientError = createClientErrorHandler({ appVersion, errorTypeBase, limits, log });

  const app: FastifyInstance = fastify<Server>({
    loggerInstance: log,
    logController: new fastify.LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger, _bindings, _options, raw) => new RequestLog(logger, raw),
    genReqId: (raw) => requestContextOf(raw).requestId,
    requestIdHeader: false,
    bodyLimit: limits.bodyBytes,
    trustProxy: options.trustProxy ?? false,
    rewriteUrl: (raw) => toShortVersion(raw.url ?? "/"),
    // `admitRequest` refuses with a problem; Fastify's own 503 has neither our headers nor our shape.
    return503OnClosing: false,
    serverFactory: (handler) => createNodeServer(handler, limits),
    clientErrorHandler: onClientError,
    frameworkErrors: (error, request, reply) => {
      stamp(request, reply, appVersion);
      void sendProblem(error, request, reply, problemSettings);
    },
    routerOptions: {
      caseSensitive: false,
      ignoreTrailingSlash: true,
      maxParamLength: 1024,
      querystringParser: parseQuery,
    },
  });

  const routes = listRoutes(app);
  app.decorate("routeList", { getter: () => routes });
  validateRequests(app);
  // A response schema documents; as a serializer it would drop what it does not list.
  app.setSerializerCompiler(() => JSON.stringify);
  addBodyFormats(app, formats, limits);
  addCaller(app, {
    trustedPeers: options.trustedPeers,
    peersWithoutToken: options.tokens?.peersWithout,
  });

  addListeners(app, (handler) =>
    createNodeServer(handler, limits).on("clientError", onClientError),
  );

  let closing = false;
  app.addHook("preClose", (done) => {
    closing = true;
    done();
  });
  // In this order: also a preflight and a refusal have our headers, also a refusal may be read by
  // a browser.
  observeRequests(app, {
    log,
    requestLogLevel: options.requestLogLevel ?? "info",
    metrics: options.metrics,
  });
  app.addHook("onRequest", stampAll(appVersion));
  const origins = options.cors?.origins ?? [];
  allowOrigins(app, origins);
  if (options.refusesForeignPages === true) refuseForeignPages(app, origins);
  app.addHook(
    "onRequest",
    admitRequest({ limits, methodsOf: allowedMethods(routes), isClosing: () => closing }),
  );
  if (options.tokens !== undefined) requireTokens(app, options.tokens);
  refusePublishers(app, options.publishRoles ?? []);
  app.addHook("onSend", gzipResponse);
  app.addHook("onSend", (_request, reply, _payload, done) => {
    // A connection kept alive after its answer would hold up the close until it times out.
    if (closing) reply.header("connection", "close");
    done();
  });
  app.setNotFoundHandler((request) => {
    throw problems.routeNotFound({ method: request.method, path: pathOf(request.url) });
  });
  app.setErrorHandler((error, request, reply) =>
    sendProblem(error, request, reply, problemSettings),
  );
  return app;
}

const exposedHeaders = [
  "etag",
  "location",
  "retry-after",
  "traceparent",
  "www-authenticate",
  "x-app-version",
  "x-entity-etag",
  "x-request-id",
  "x-trace-id",
  "x-workflow",
];

function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return;
  void app.register(cors, {
    origin: origins.includes("*") ? "*" : [...origins],
    methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    exposedHeaders,
    maxAge: 600,
  });
}
