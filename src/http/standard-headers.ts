/** The headers every response carries, whoever writes it: a route, the error handler, or the bare socket. */
import type { RequestContext } from "./request-context.ts";

/** What headers are set on; a reply is one. */
export interface HeaderTarget {
  header(name: string, value: string): unknown;
}

export function setStandardHeaders(
  target: HeaderTarget,
  appVersion: string,
  { requestId, trace }: RequestContext,
): void {
  target.header("x-app-version", appVersion);
  target.header("x-request-id", requestId);
  target.header("x-trace-id", trace.traceId);
  target.header("x-span-id", trace.spanId);
  target.header("traceparent", trace.traceparent);
  if (trace.tracestate !== undefined) target.header("x-trace-state", trace.tracestate);
  target.header("x-content-type-options", "nosniff");
  target.header("x-xss-protection", "1; mode=block");
  target.header("x-frame-options", "SAMEORIGIN");
}
