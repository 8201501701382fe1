/** What a start or a transition asks, read from the request. */
import type { FastifyRequest } from "fastify";
import type { JsonValue } from "../engine/exact-json.ts";
import { maskedHeaders } from "../engine/mask-secrets.ts";
import { PayloadError, resolvePayload } from "../engine/payload-mode.ts";
import { problems } from "../engine/problems.ts";
import { findUnstorable, mayBeUnstorable } from "../engine/storable-json.ts";
import type { Author } from "../engine/instance.ts";
import type { Payload, SentRequest } from "../engine/transition/run.ts";
import { parseQueryAsSent } from "./query-string.ts";
import { requestContextOf } from "./request-context.ts";

export interface InstanceRequest {
  /** Start: the id that another runtime chose for the new instance. */
  id: string | undefined;
  /** Start: the business key. Transition: the idempotency key. */
  key: string | undefined;
  payload: Payload;
  /** The request as it came, for scripts that want to see it. */
  sent: () => SentRequest;
  author: Author;
  roles: readonly string[];
  headers: Readonly<Record<string, string>>;
  traceId: string;
  /** How many tasks that start or move instances led to this request. */
  triggerDepth: number;
  /** On the process's own clock (`performance.now`). */
  receivedAt: number;
  /** Aborted when the caller has gone. Made when asked for: one per request would be felt. */
  signal: () => AbortSignal;
}

export const payloadModeHeaders = ["x-service-payload-mode", "x-vnext-payload-mode"] as const;

export function readInstanceRequest(
  request: FastifyRequest,
  kind: "start" | "transition",
  mode = payloadModeOf(request),
): InstanceRequest {
  const { caller } = request;
  refuseUnstorable(request);
  const resolved = resolvePayload(request.body, mode, kind);
  if (resolved instanceof PayloadError) {
    const count = Object.values(resolved.errors).flat().length;
    throw problems.requestInvalid({ part: "body", count }, { errors: resolved.errors });
  }
  const { key, tags = [], stage, attributes } = resolved;
  const { trace, receivedAt } = requestContextOf(request.raw);
  return {
    id: kind === "start" ? caller.instanceId : undefined,
    key,
    payload: { attributes, tags, stage },
    sent: () => sentRequest(request),
    author: { actor: caller.actor, behalfOf: caller.behalfOf },
    roles: caller.roles,
    // Stored with the record and the job; credentials stay out of both.
    headers: maskedHeaders(caller.headers),
    traceId: trace.traceId,
    triggerDepth: caller.triggerDepth,
    receivedAt,
    signal: () => request.signal,
  };
}

function sentRequest({ originalUrl, rawBody }: FastifyRequest): SentRequest {
  const mark = originalUrl.indexOf("?");
  return {
    query: parseQueryAsSent(mark === -1 ? "" : originalUrl.slice(mark + 1)),
    rawBody: rawBody?.toString("utf8") ?? null,
  };
}

function refuseUnstorable({ body, rawBody, headers }: FastifyRequest): void {
  if (rawBody === undefined) return;
  // A form has its own escapes; it is always looked at closely.
  const isJson = headers["content-type"]?.toLowerCase().includes("json") === true;
  if (isJson && !mayBeUnstorable(rawBody)) return;
  const found = findUnstorable(body as JsonValue);
  if (found === undefined) return;
  const errors = { [found.path === "" ? "body" : found.path]: [found.reason] };
  throw problems.requestInvalid({ part: "body", count: 1 }, { errors });
}

export function payloadModeOf(request: FastifyRequest): string | undefined {
  for (const name of payloadModeHeaders) {
    const value = request.headers[name];
    if (typeof value === "string") return value;
  }
  return undefined;
}
