/**
 * The hooks at the head of every request: set the headers all answers share, then turn away what no
 * route should see. They run before the body is read, so a refusal here costs next to nothing.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { problems } from "../engine/problems.ts";
import type { Problem } from "../engine/problem.ts";
import { apiVersion, isApiPath } from "./api-version.ts";
import { pathOf } from "./problem-response.ts";
import { malformedPair, type ParsedQuery } from "./query-string.ts";
import { requestContextOf } from "./request-context.ts";
import type { ServerLimits } from "./server-limits.ts";
import { setStandardHeaders } from "./standard-headers.ts";

export interface Admission {
  limits: ServerLimits;
  methodsOf: (path: string) => string[];
  isClosing: () => boolean;
}

export function stamp(request: FastifyRequest, reply: FastifyReply, appVersion: string): void {
  setStandardHeaders(reply, appVersion, requestContextOf(request.raw));
  if (isApiPath(request.raw.url ?? "")) reply.header("api-supported-versions", apiVersion);
}

export function stampAll(appVersion: string) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    stamp(request, reply, appVersion);
    done();
  };
}

export function admitRequest(admission: Admission) {
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    done(refusal(request, reply, admission));
  };
}

function refusal(
  request: FastifyRequest,
  reply: FastifyReply,
  { limits, methodsOf, isClosing }: Admission,
): Problem | undefined {
  const { raw } = request;
  if (isClosing()) {
    reply.raw.setHeader("connection", "close");
    return problems.shuttingDown({});
  }
  if (raw.rawHeaders.length > 2 * limits.headerCount) {
    return problems.headersTooLarge({ bytes: limits.headerBytes, count: limits.headerCount });
  }
  if (raw.headers.host === undefined && raw.httpVersion === "1.1") {
    return problems.requestMalformed({ reason: "the Host header is missing" });
  }
  if (request.is404) return notHere(request, reply, methodsOf);
  const broken = (request.query as ParsedQuery)[malformedPair];
  if (broken === undefined) return undefined;
  const errors = { query: [`'${broken}' is not correctly percent-encoded`] };
  return problems.requestInvalid({ part: "query", count: 1 }, { errors });
}

function notHere(
  request: FastifyRequest,
  reply: FastifyReply,
  methodsOf: Admission["methodsOf"],
): Problem {
  const path = pathOf(request.url);
  const shown = path.slice(0, 200);
  const allowed = methodsOf(path);
  if (allowed.length === 0) {
    return problems.routeNotFound({ method: request.method, path: shown });
  }
  reply.header("allow", allowed.join(", "));
  return problems.methodNotAllowed({
    method: request.method,
    path: shown,
    allowed: allowed.join(", "),
  });
}
