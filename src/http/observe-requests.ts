/**
 * What we remember of a request: a logger that names it, one line when it is answered, and its
 * figures. Route patterns only, never addresses: the number of label values is the number of routes.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Metrics } from "../metrics.ts";
import { requestContextOf } from "./request-context.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Health probes and scrapes: answered without a log line and without figures. */
    quiet?: boolean;
  }
}

export interface Observation {
  requestLogLevel: "debug" | "info" | "silent";
  metrics: Metrics | undefined;
}

export function observeRequests(app: FastifyInstance, observation: Observation): void {
  const { metrics, requestLogLevel } = observation;
  app.addHook("onRequest", (request, reply, done) => {
    request.log = reply.log = request.log.child(bindingsOf(request));
    metrics?.requestStarted();
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    metrics?.requestEnded();
    if (request.routeOptions.config.quiet !== true) {
      metrics?.requestAnswered(
        request.method,
        routeOf(request),
        reply.statusCode,
        reply.elapsedTime,
      );
      if (requestLogLevel !== "silent") logAnswer(request, reply, requestLogLevel);
    }
    done();
  });
}

const routeOf = (request: FastifyRequest) => request.routeOptions.url ?? "(none)";

function bindingsOf(request: FastifyRequest): Record<string, string> {
  const { requestId, trace } = requestContextOf(request.raw);
  const bindings: Record<string, string> = { requestId, traceId: trace.traceId };
  const { domain, workflow, instance } = (request.params ?? {}) as Record<string, string>;
  if (domain !== undefined) bindings["domain"] = domain;
  if (workflow !== undefined) bindings["workflow"] = workflow;
  if (instance !== undefined) bindings["instance"] = instance;
  return bindings;
}

function logAnswer(request: FastifyRequest, reply: FastifyReply, level: "debug" | "info"): void {
  request.log[level](
    {
      method: request.method,
      route: routeOf(request),
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 100) / 100,
    },
    "RequestAnswered",
  );
}
