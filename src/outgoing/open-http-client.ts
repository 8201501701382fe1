/**
 * The outgoing HTTP client on undici: connections that are kept and reused, one deadline over the
 * whole exchange, limits on what comes back, redirects followed here so that each is checked.
 *
 * Four sets of connections, because what one call may use another may not: with and without the check
 * of certificates, to checked addresses and to the operator's own.
 */
import { lookup } from "node:dns/promises";
import { validateHeaderName, validateHeaderValue } from "node:http";
import { Agent, type Dispatcher } from "undici";
import { readAddressRules } from "./address-rules.ts";
import { checkedConnect, type Resolve } from "./checked-connect.ts";
import { type Hop, redirected } from "./follow-redirect.ts";
import {
  type HttpClient,
  OutgoingFailed,
  type OutgoingRequest,
  type OutgoingResponse,
} from "./http-client.ts";
import { outgoingFailure } from "./outgoing-failure.ts";
import { acceptedEncodings, readBody } from "./read-body.ts";
import { safeUrl } from "./safe-url.ts";

export interface HttpClientOptions {
  /** `Egress.Allow`: what may be called beside the public internet. */
  allow?: readonly string[];
  /** `Egress.AnswerLimitBytes`. */
  maxBytes?: number;
  /** In place of this machine's DNS and of the certificates it trusts. */
  resolve?: Resolve;
  ca?: string;
}

const defaultMaxBytes = 5 * 1024 * 1024;
const defaultRedirects = 5;
const connectTimeoutMs = 10_000;
const maxHeaderBytes = 65_536;
const maxHeaderCount = 200;
/** To one server at a time; further calls wait within their own time limit. */
const connectionsPerOrigin = 128;

export function openHttpClient(options: HttpClientOptions = {}): HttpClient {
  const { allow = [], maxBytes = defaultMaxBytes, resolve = resolveHere, ca } = options;
  const checked = readAddressRules(allow);
  const agentFor = (isConfigured: boolean, validateTls: boolean) =>
    new Agent({
      connect: checkedConnect({
        resolve,
        rules: isConfigured ? undefined : checked,
        validateTls,
        connectTimeoutMs,
        ca,
      }),
      connections: connectionsPerOrigin,
      maxHeaderSize: maxHeaderBytes,
      // The exchange has one deadline, which is `send`'s own.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  const agents = {
    checked: { strict: agentFor(false, true), lax: agentFor(false, false) },
    configured: { strict: agentFor(true, true), lax: agentFor(true, false) },
  };

  return {
    send: (request) =>
      withinDeadline(request, (signal) =>
        exchange(request, maxBytes, (hop) => {
          const { strict, lax } = hop.isConfigured ? agents.configured : agents.checked;
          return ask(request.validateTls === false ? lax : strict, hop, signal);
        }),
      ),
    async close() {
      const all = [agents.checked, agents.configured].flatMap(({ strict, lax }) => [strict, lax]);
      await Promise.all(all.map((agent) => agent.destroy()));
    },
  };
}

const resolveHere: Resolve = (hostname) => lookup(hostname, { all: true });

/** Longer than any timer; a limit that long is none. */
const longestTimeoutMs = 2 ** 31 - 1;

async function withinDeadline<T>(
  { url, timeoutMs, signal: given }: OutgoingRequest,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const to = safeUrl(url);
  const cancel = () =>
    controller.abort(new OutgoingFailed("cancelled", `The call of ${to} was cancelled.`));
  const timer = setTimeout(
    () =>
      controller.abort(
        new OutgoingFailed(
          "timeout",
          `${to} gave no complete answer within ${timeoutMs / 1000} s. Raise the time limit if it needs longer.`,
        ),
      ),
    Math.min(timeoutMs, longestTimeoutMs),
  );
  given?.addEventListener("abort", cancel, { once: true });
  if (given?.aborted === true) cancel();
  try {
    return await work(controller.signal);
  } catch (error) {
    const failure = outgoingFailure(
      controller.signal.aborted ? controller.signal.reason : error,
      to,
    );
    // Lets go of an answer that is not read to its end, and of its connection.
    controller.abort(failure);
    throw failure;
  } finally {
    clearTimeout(timer);
    given?.removeEventListener("abort", cancel);
  }
}

/** The request and the redirects that follow from it, up to the answer that counts. */
async function exchange(
  request: OutgoingRequest,
  defaultLimit: number,
  askFor: (hop: Hop) => Promise<Dispatcher.ResponseData>,
): Promise<OutgoingResponse> {
  const { redirects = defaultRedirects, maxBytes = defaultLimit } = request;
  let hop = firstHop(request);
  for (let followed = 0; ; followed += 1) {
    checkUrl(hop.url);
    const answer = await askFor(hop);
    const headers = headersIn(answer.headers as unknown as string[], hop.url);
    const next =
      redirects === 0 ? undefined : redirected(hop, answer.statusCode, headers["location"]);
    if (next === undefined) return readAnswer(answer, headers, hop, maxBytes);
    // What little a redirect says is read past, so that its connection can be used again.
    await answer.body.dump({ limit: 16_384 }).catch(() => undefined);
    if (followed === redirects) {
      throw new OutgoingFailed(
        "badAnswer",
        `${safeUrl(request.url)} redirects more than ${redirects} times. Call the address that answers.`,
      );
    }
    hop = next;
  }
}

function firstHop({ url, method, headers, body, isConfigured = false }: OutgoingRequest): Hop {
  if (!URL.canParse(url)) {
    throw new OutgoingFailed(
      "badRequest",
      `'${safeUrl(url)}' is not an address. Give a complete one, such as https://host/path.`,
    );
  }
  return {
    url: new URL(url),
    method: method.toUpperCase(),
    headers: sendableHeaders(headers),
    body,
    isConfigured,
  };
}

function checkUrl(url: URL): void {
  const shown = safeUrl(url.href);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new OutgoingFailed("refused", `'${shown}' is neither http nor https.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new OutgoingFailed(
      "refused",
      `'${shown}' has a user name or password before its host. Send them in an Authorization header.`,
    );
  }
}

/** What belongs to the connection is the client's business, whoever wrote it. */
const ofTheConnection: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

function sendableHeaders(given: OutgoingRequest["headers"]): Record<string, string> {
  const headers: Record<string, string> = {};
  const names = new Set<string>();
  for (const [name, value] of Object.entries(given)) {
    checkHeader(name, value);
    const lower = name.toLowerCase();
    if (ofTheConnection.has(lower)) continue;
    names.add(lower);
    headers[name] = value;
  }
  if (!names.has("accept-encoding")) headers["accept-encoding"] = acceptedEncodings;
  if (!names.has("user-agent")) headers["user-agent"] = "millrace";
  return headers;
}

function checkHeader(name: string, value: string): void {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch (cause) {
    throw new OutgoingFailed(
      "badRequest",
      `The header '${name}' cannot be sent: a name has letters, digits and hyphens, a value no line breaks and no characters beyond Latin-1.`,
      { cause },
    );
  }
}

const ask = (agent: Agent, hop: Hop, signal: AbortSignal): Promise<Dispatcher.ResponseData> =>
  agent.request({
    origin: hop.url.origin,
    path: hop.url.pathname + hop.url.search,
    method: hop.method,
    headers: hop.headers,
    body: hop.body ?? null,
    responseHeaders: "raw",
    signal,
  });

async function readAnswer(
  { statusCode, statusText, body }: Dispatcher.ResponseData,
  headers: Readonly<Record<string, string>>,
  { url, method }: Hop,
  maxBytes: number,
): Promise<OutgoingResponse> {
  const bytes = await readBody({
    chunks: body,
    announced: method === "HEAD" ? undefined : headers["content-length"],
    encoding: headers["content-encoding"],
    maxBytes,
    from: safeUrl(url.href),
  });
  const wasCompressed = headers["content-encoding"] !== undefined && bytes.length > 0;
  return {
    status: statusCode,
    statusText,
    headers: wasCompressed ? withoutCoding(headers) : headers,
    body: bytes,
    url: url.href,
  };
}

/** They speak of the compressed bytes, which nobody gets to see. */
const withoutCoding = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => name !== "content-encoding" && name !== "content-length",
    ),
  );

/** Name, value, name, value … as they came. */
function headersIn(raw: readonly string[], url: URL): Record<string, string> {
  if (raw.length > 2 * maxHeaderCount) {
    throw new OutgoingFailed(
      "tooLarge",
      `The answer of ${safeUrl(url.href)} has more than ${maxHeaderCount} header fields.`,
    );
  }
  const headers = new Map<string, string>();
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase();
    const value = raw[i + 1]!;
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(headers);
}
