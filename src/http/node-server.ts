/**
 * Node's HTTP server with our limits. Some limits Node would enforce with an answer of its own that
 * lacks our headers; those are switched off here and enforced by `admitRequest`.
 */
import { createServer, type Server, type ServerOptions } from "node:http";
import type { ServerLimits } from "./server-limits.ts";

export type Handler = NonNullable<Parameters<typeof createServer>[1]>;

export function createNodeServer(handler: Handler, limits: ServerLimits): Server {
  const server = createServer(nodeOptions(limits), handler);
  // Beyond its count Node drops headers without a word. No limit here; `headerBytes` bounds them all.
  server.maxHeadersCount = 0;
  // An `Expect` we do not know is not worth a bare 417.
  server.on("checkExpectation", handler);
  return server;
}

function nodeOptions(limits: ServerLimits): ServerOptions {
  return {
    maxHeaderSize: limits.headerBytes,
    requestTimeout: limits.requestTimeoutMs,
    headersTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    // How often Node looks for requests past their time: a slow one is cut at most a sixth late.
    connectionsCheckingInterval: Math.min(5000, Math.ceil(limits.requestTimeoutMs / 6)),
    requireHostHeader: false,
    noDelay: true,
  };
}
