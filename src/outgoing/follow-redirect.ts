/** Where a redirect leads, and what of the request goes along. Pure: nothing is sent here. */
import { OutgoingFailed } from "./http-client.ts";
import { safeUrl } from "./safe-url.ts";

/** One request of an exchange; a redirect makes the next one of it. */
export interface Hop {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  readonly isConfigured: boolean;
}

/** What another origin may know. All else may be a credential, whatever it is called. */
const harmless: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "content-language",
  "content-type",
  "idempotency-key",
  "traceparent",
  "tracestate",
  "user-agent",
  "x-request-id",
]);

/** Undefined when the answer is no redirect, or leads nowhere. */
export function redirected(
  hop: Hop,
  status: number,
  location: string | undefined,
): Hop | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || !location) return undefined;
  if (!URL.canParse(location, hop.url.href)) {
    throw new OutgoingFailed(
      "badAnswer",
      `${safeUrl(hop.url.href)} redirects to '${safeUrl(location)}', which is no address.`,
    );
  }
  const url = new URL(location, hop.url);
  if (hop.url.protocol === "https:" && url.protocol === "http:") {
    throw new OutgoingFailed(
      "refused",
      `${safeUrl(hop.url.href)} redirects from https to ${safeUrl(url.href)}. An encrypted call does not go on in clear text; call that address itself if it is meant.`,
    );
  }
  const stays = url.origin === hop.url.origin;
  const next = changesToGet(status, hop.method)
    ? { method: "GET", body: undefined, headers: without(hop.headers, isAboutBody) }
    : { method: hop.method, body: hop.body, headers: hop.headers };
  return {
    ...next,
    url,
    headers: stays ? next.headers : without(next.headers, (name) => !harmless.has(name)),
    // The operator vouched for the address that was configured, not for where it sends us.
    isConfigured: hop.isConfigured && stays,
  };
}

/** As browsers do: 303 asks for it, and of 301 and 302 a POST is expected to change. */
const changesToGet = (status: number, method: string): boolean =>
  status === 303
    ? method !== "GET" && method !== "HEAD"
    : (status === 301 || status === 302) && method === "POST";

const isAboutBody = (name: string): boolean => name.startsWith("content-");

const without = (
  headers: Hop["headers"],
  isDropped: (name: string) => boolean,
): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !isDropped(name.toLowerCase())));
