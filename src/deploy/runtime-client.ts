/** The runtime, as the deployment service sees it: over HTTP, like any other client. */
import {
  isJsonObject,
  parseJson,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from "../engine/exact-json.ts";
import type { HttpClient, OutgoingResponse } from "../outgoing/http-client.ts";

export interface RuntimeAnswer {
  status: number;
  /** Undefined when it is no JSON. */
  body: JsonValue | undefined;
}

export interface RawAnswer {
  status: number;
  contentType: string;
  body: Uint8Array;
}

/** Every method throws `OutgoingFailed` when the runtime does not answer. */
export interface RuntimeClient {
  /** The same runtime, asked in somebody's name: with their token, or as whom this service knows them. */
  as(headers: Readonly<Record<string, string>>): RuntimeClient;
  isHealthy(signal?: AbortSignal): Promise<boolean>;
  publish(component: JsonValue, signal?: AbortSignal): Promise<RuntimeAnswer>;
  /** A publish request of somebody else, passed on byte for byte. */
  forwardPublish(
    body: Uint8Array,
    headers: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<RawAnswer>;
  /** What a publish would answer; nothing is stored. */
  validate(component: JsonValue, signal?: AbortSignal): Promise<RuntimeAnswer>;
  /** A published component, or undefined. Without a version the latest. */
  findComponent(address: RuntimeComponent, signal?: AbortSignal): Promise<JsonObject | undefined>;
  /** Of a workflow, those that match the filter; undefined when the runtime knows no such workflow. */
  listInstances(
    at: { domain: string; workflow: string },
    query: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<JsonObject[] | undefined>;
  reinitialize(signal?: AbortSignal): Promise<RuntimeAnswer>;
}

export interface RuntimeComponent {
  domain: string;
  flow: string;
  key: string;
  version?: string;
}

const healthTimeoutMs = 5000;
const callTimeoutMs = 60_000;
const jsonContent = { "content-type": "application/json" };

export function createRuntimeClient(
  http: HttpClient,
  url: string,
  identity: Readonly<Record<string, string>> = {},
): RuntimeClient {
  const base = url.replace(/\/+$/, "");
  const send = (
    method: string,
    path: string,
    options: {
      body?: string | Uint8Array;
      headers?: Readonly<Record<string, string>>;
      timeoutMs?: number;
      signal?: AbortSignal | undefined;
    } = {},
  ): Promise<OutgoingResponse> =>
    http.send({
      url: base + path,
      method,
      headers: {
        accept: "application/json",
        ...identity,
        ...(options.body === undefined ? {} : jsonContent),
        ...options.headers,
      },
      body: options.body,
      timeoutMs: options.timeoutMs ?? callTimeoutMs,
      redirects: 0,
      isConfigured: true,
      signal: options.signal,
    });

  return {
    as: (headers) => createRuntimeClient(http, url, headers),
    async isHealthy(signal) {
      const { status } = await send("GET", "/health", { timeoutMs: healthTimeoutMs, signal });
      return status === 200;
    },
    async publish(component, signal) {
      const body = stringifyJson(component);
      return answerOf(await send("POST", "/api/v1/definitions/publish", { body, signal }));
    },
    async forwardPublish(body, headers, signal) {
      const path = "/api/v1/definitions/publish";
      const answer = await send("POST", path, { body, headers, signal });
      return {
        status: answer.status,
        contentType: answer.headers["content-type"] ?? "application/json; charset=utf-8",
        body: answer.body,
      };
    },
    async validate(component, signal) {
      const body = stringifyJson(component);
      return answerOf(await send("POST", "/api/v1/definitions/validate", { body, signal }));
    },
    async findComponent({ domain, flow, key, version }, signal) {
      const at = `/api/v1/${segment(domain)}/workflows/${segment(flow)}/instances/${segment(key)}`;
      const query = version === undefined ? "" : `?version=${encodeURIComponent(version)}`;
      const { status, body } = answerOf(await send("GET", at + query, { signal }));
      return status === 200 && isObject(body) ? body : undefined;
    },
    async listInstances({ domain, workflow }, query, signal) {
      const at = `/api/v1/${segment(domain)}/workflows/${segment(workflow)}/instances`;
      const text = new URLSearchParams(query).toString();
      const { status, body } = answerOf(await send("GET", `${at}?${text}`, { signal }));
      if (status !== 200 || !isObject(body) || !Array.isArray(body["items"])) return undefined;
      return body["items"].filter(isJsonObject);
    },
    async reinitialize(signal) {
      return answerOf(await send("GET", "/api/v1/definitions/re-initialize", { signal }));
    },
  };
}

function answerOf({ status, body }: OutgoingResponse): RuntimeAnswer {
  try {
    return { status, body: parseJson(Buffer.from(body).toString("utf8")) };
  } catch {
    return { status, body: undefined };
  }
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  value !== undefined && isJsonObject(value);

const segment = encodeURIComponent;
