/**
 * The flows of another domain, over the API of its runtime. The address is the operator's; a runtime
 * of ours at the other end takes our word for who acts and for the id of what it starts, if it counts
 * us among its trusted peers.
 */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  stringifyJson,
} from "../engine/exact-json.ts";
import { peerHeaders } from "../engine/identity-headers.ts";
import type { HttpClient, OutgoingResponse } from "../outgoing/http-client.ts";
import { withHeader } from "./call-headers.ts";
import type { FlowAnswer, FlowCall, Flows, ReadCall, RemoteFlows, StartCall } from "./flow-port.ts";
import { decodeText } from "./text-encoding.ts";

/** `addresses`: base address by domain. */
export function remoteFlows(
  http: Pick<HttpClient, "send">,
  addresses: ReadonlyMap<string, string>,
): RemoteFlows {
  return (domain) => {
    const address = addresses.get(domain);
    return address === undefined ? undefined : flowsAt(http, address.replace(/\/+$/, ""));
  };
}

interface Request {
  readonly method: "GET" | "POST" | "PATCH";
  /** Below the instances of the workflow. */
  readonly path?: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
}

function flowsAt(http: Pick<HttpClient, "send">, address: string): Flows {
  const send = async (call: FlowCall, request: Request): Promise<FlowAnswer> => {
    const { method, path = "", query = {}, body } = request;
    const { domain, workflow, validateTls, timeoutMs, signal } = call;
    const instances = `${address}/api/v1/${segment(domain)}/workflows/${segment(workflow)}/instances`;
    const response = await http.send({
      url: `${instances}${path}${queryText(query)}`,
      method,
      headers: headersOf(call, request),
      ...(body === undefined ? {} : { body: stringifyJson(body) }),
      validateTls,
      timeoutMs,
      signal,
      isConfigured: true,
      // Whatever it redirects to is not the address that the operator named.
      redirects: 0,
    });
    return answerOf(response);
  };

  const start = (call: StartCall) =>
    send(call, {
      method: "POST",
      path: "/start",
      query: { sync: String(call.sync), version: call.version },
      headers: {
        [peerHeaders.triggerDepth]: String(call.triggerDepth),
        [peerHeaders.instanceId]: call.instanceId,
      },
      body: envelope(call.key, call),
    });

  const getInstance = ({ instance, extensions, ...call }: ReadCall) =>
    send(call, {
      method: "GET",
      path: `/${segment(instance)}`,
      query: { extensions },
      headers: { [peerHeaders.triggerDepth]: String(call.triggerDepth) },
    });

  return {
    start,
    startSubProcess: start,
    transition: (call) =>
      send(call, {
        method: "PATCH",
        path: `/${segment(call.instance)}/transitions/${segment(call.transitionKey)}`,
        query: { sync: String(call.sync) },
        headers: { [peerHeaders.triggerDepth]: String(call.triggerDepth) },
        body: envelope(call.executionKey, call),
      }),
    getInstance,
    getData: async (call) => dataOf(await getInstance(call)),
    listInstances: (call) => send(call, { method: "GET", query: call.query }),
  };
}

/** An address with the segment `.` or `..` means another one; written twice over it names nothing. */
const segment = (name: string): string =>
  encodeURIComponent(/^\.{1,2}$/.test(name) ? name.replaceAll(".", "%2E") : name);

const envelope = (
  key: string | undefined,
  { tags, body }: { tags: readonly string[]; body: JsonValue | undefined },
): JsonObject => ({
  ...(key === undefined ? {} : { key }),
  ...(tags.length === 0 ? {} : { tags: [...tags] }),
  attributes: body ?? {},
});

function headersOf({ headers: given }: FlowCall, { headers, body }: Request) {
  const ours = {
    accept: "application/json",
    ...(body === undefined
      ? {}
      : { "content-type": "application/json", "x-service-payload-mode": "standard" }),
    ...headers,
  };
  let all = { ...given };
  for (const [name, value] of Object.entries(ours)) all = withHeader(all, name, value);
  return all;
}

function queryText(query: NonNullable<Request["query"]>): string {
  const parts = Object.entries(query).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => `${name}=${encodeURIComponent(value)}`),
  );
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

/** As deep as any JSON the service takes, and the envelopes around it. */
const maxDepth = 128;

function answerOf({ status, headers, body }: OutgoingResponse): FlowAnswer {
  const text = decodeText(body, headers["content-type"]);
  const data = jsonIn(text);
  if (status < 400) return { status, headers, data };
  const problem = isJsonObject(data) ? data : {};
  const rejected = isJsonObject(problem["error"]) ? problem["error"] : {};
  return {
    status,
    headers,
    data,
    errorCode: textOf(problem["errorCode"]) ?? textOf(rejected["code"]),
    errorMessage:
      textOf(problem["detail"]) ?? textOf(rejected["message"]) ?? textOf(problem["title"]),
  };
}

const textOf = (value: JsonValue | undefined) => (typeof value === "string" ? value : undefined);

/** An answer that is no JSON is the text itself. */
function jsonIn(text: string): JsonValue | undefined {
  if (text === "") return undefined;
  try {
    return parseJson(text, maxDepth);
  } catch {
    return text;
  }
}

/** The part of an instance that its data function answers. */
function dataOf(answer: FlowAnswer): FlowAnswer {
  if (answer.status >= 400 || !isJsonObject(answer.data)) return answer;
  const { attributes, eTag, entityEtag, extensions } = answer.data;
  const parts = { data: attributes, eTag, entityEtag, extensions: extensions ?? {} };
  const given = Object.entries(parts).filter(([, value]) => value !== undefined);
  return { ...answer, data: Object.fromEntries(given) as JsonObject };
}
