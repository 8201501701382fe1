/**
 * What we remember of a request: one line when it is answered, and its figures. Route patterns only,
 * never addresses: the number of label values is the number of routes.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { bindingsOf, RequestLog } from "./request-log.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Health probes and scrapes: answered without a log line and without figures. */
    quiet?: boolean;
  }
}

export interface Observation {
  log: Log;
  requestLogLevel: "debug" | "info" | "silent";
  metrics: Metrics | undefined;
}

export function observeRequests(app: FastifyInstance, observation: Observation): void {
  const { log, metrics, requestLogLevel } = observation;
  app.addHook("onRequest", (request, reply, done) => {
    if (request.log instanceof RequestLog) request.log.params = request.params;
    if (metrics !== undefined) {
      metrics.requestStarted();
      // Not with the answer: a caller who leaves before it gets none.
      reply.raw.once("close", metrics.requestEnded);
    }
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    // Asked once: Fastify makes this object anew each time.
    const { config, url: route = "(none)" } = request.routeOptions;
    if (config.quiet !== true) {
      const { statusCode: status, elapsedTime: ms } = reply;
      metrics?.requestAnswered(request.method, route, status, ms);
      if (requestLogLevel !== "silent" && log.isLevelEnabled(requestLogLevel)) {
        log[requestLogLevel](answered(request, route, status, ms), "RequestAnswered");
      }
    }
    done();
  });
}

function answered(
  request: FastifyRequest,
  route: string,
  status: number,
  ms: number,
): Record<string, unknown> {
  const line = bindingsOf(request.raw, request.params);
  line["method"] = request.method;
  line["route"] = route;
  line["status"] = status;
  line["ms"] = Math.round(ms * 100) / 100;
  return line;
}
