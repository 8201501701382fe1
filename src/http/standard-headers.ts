/** The headers every response carries, whoever writes it: a route, the error handler, or the bare socket. */
import type { RequestContext } from "./request-context.ts";

export type HeaderSetter = (name: string, value: string) => unknown;

export function setStandardHeaders(
  set: HeaderSetter,
  appVersion: string,
  { requestId, trace }: RequestContext,
): void {
  set("x-app-version", appVersion);
  set("x-request-id", requestId);
  set("x-trace-id", trace.traceId);
  set("x-span-id", trace.spanId);
  set("traceparent", trace.traceparent);
  if (trace.tracestate !== undefined) set("x-trace-state", trace.tracestate);
  set("x-content-type-options", "nosniff");
  set("x-xss-protection", "1; mode=block");
  set("x-frame-options", "SAMEORIGIN");
}
