/**
 * The Dapr sidecar's HTTP API: its address and its token come from the configuration, so it is the
 * one private address that may always be called.
 */
import type { HttpClient, OutgoingRequest, OutgoingResponse } from "./http-client.ts";

export interface DaprSidecar {
  /** `url` is the path below the sidecar's address: `/v1.0/publish/orders/new` (see `daprPath`). */
  send(request: OutgoingRequest): Promise<OutgoingResponse>;
}

export interface DaprSettings {
  /** Empty: there is no sidecar. */
  readonly endpoint: string;
  /** Empty: it asks for none. */
  readonly apiToken: string;
}

export function daprSidecar(
  http: HttpClient,
  { endpoint, apiToken }: DaprSettings,
): DaprSidecar | undefined {
  if (endpoint === "") return undefined;
  const address = endpoint.replace(/\/+$/, "");
  return {
    send: (request) =>
      http.send({
        ...request,
        url: `${address}${request.url}`,
        headers: withToken(request.headers, apiToken),
        isConfigured: true,
        // Where an application redirects to is not the sidecar any more, and must not get the token.
        redirects: 0,
      }),
  };
}

const tokenName = "dapr-api-token";

/** The configured one alone: a definition's own would be a guess. */
function withToken(headers: OutgoingRequest["headers"], apiToken: string): Record<string, string> {
  const others = Object.entries(headers).filter(([name]) => name.toLowerCase() !== tokenName);
  return Object.fromEntries(apiToken === "" ? others : [...others, [tokenName, apiToken]]);
}

/** Each part is one segment, whatever it contains: `/v1.0/state/main/a%2Fb`. */
export const daprPath = (...segments: string[]): string =>
  segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
