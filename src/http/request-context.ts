/**
 * Who is asking, in the technical sense: request id and trace. Made once per request, before
 * routing is done, so that the log line, the headers and the problem body of one request agree
 * even when the request ends before any hook runs.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { traceContextOf, type TraceContext } from "./trace-context.ts";

export interface RequestContext {
  requestId: string;
  trace: TraceContext;
  /** On the process's own clock (`performance.now`). */
  receivedAt: number;
}

const contextKey = Symbol("requestContext");
type Carrier = IncomingMessage & { [contextKey]?: RequestContext };

const acceptableId = /^[\x21-\x7e]{1,128}$/;

export function requestContextOf(raw: IncomingMessage): RequestContext {
  const carrier = raw as Carrier;
  return (carrier[contextKey] ??= newRequestContext(raw.headers));
}

export function newRequestContext(headers: IncomingMessage["headers"] = {}): RequestContext {
  const given = headers["x-request-id"];
  return {
    requestId: typeof given === "string" && acceptableId.test(given) ? given : randomUUID(),
    trace: traceContextOf(first(headers["traceparent"]), first(headers["tracestate"])),
    receivedAt: performance.now(),
  };
}

const first = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);
