/** What a start or a transition asks, read from the request. */
import type { FastifyRequest } from "fastify";
import { masked, isSecretName } from "../engine/mask-secrets.ts";
import { PayloadError, resolvePayload } from "../engine/payload-mode.ts";
import { problems } from "../engine/problems.ts";
import type { Author } from "../engine/instance.ts";
import type { Payload } from "../engine/transition/run.ts";
import { requestContextOf } from "./request-context.ts";

export interface InstanceRequest {
  /** Start: the business key. Transition: the idempotency key. */
  key: string | undefined;
  payload: Payload;
  author: Author;
  roles: readonly string[];
  headers: Readonly<Record<string, string>>;
  traceId: string;
  /** Aborted when the caller has gone. Made when asked for: one per request would be felt. */
  signal: () => AbortSignal;
}

export const payloadModeHeaders = ["x-service-payload-mode", "x-vnext-payload-mode"] as const;

export function readInstanceRequest(
  request: FastifyRequest,
  kind: "start" | "transition",
): InstanceRequest {
  const { caller } = request;
  const resolved = resolvePayload(request.body, payloadModeOf(request), kind);
  if (resolved instanceof PayloadError) {
    const count = Object.values(resolved.errors).flat().length;
    throw problems.requestInvalid({ part: "body", count }, { errors: resolved.errors });
  }
  const { key, tags = [], stage, attributes } = resolved;
  return {
    key,
    payload: { attributes, tags, stage },
    author: { actor: caller.actor, behalfOf: caller.behalfOf },
    roles: caller.roles,
    headers: withoutSecrets(caller.headers),
    traceId: requestContextOf(request.raw).trace.traceId,
    signal: () => request.signal,
  };
}

export function payloadModeOf(request: FastifyRequest): string | undefined {
  for (const name of payloadModeHeaders) {
    const value = request.headers[name];
    if (typeof value === "string") return value;
  }
  return undefined;
}

/** Headers are stored with the record and the job; credentials stay out of both. */
const withoutSecrets = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, isSecretName(name) ? masked : value]),
  );
