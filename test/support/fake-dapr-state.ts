/**
 * A sidecar with one state-store component, after Dapr's state API: what it keeps, it keeps as the
 * text it was sent.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { jsonEquals, parseJson, stringifyJson } from "../../src/engine/exact-json.ts";
import type { JsonObject, JsonValue } from "../../src/engine/exact-json.ts";

export interface FakeDaprState {
  url: string;
  component: string;
  /** Keys as they are stored. */
  keys(): string[];
  requests: { method: string; path: string; headers: IncomingMessage["headers"]; body: string }[];
  advance(ms: number): void;
  /** Every request is answered with this, until it is undefined again. */
  answerWith: { status: number; body: string } | undefined;
  close(): Promise<void>;
}

interface Kept {
  value: JsonValue;
  etag: string;
  expiresAt: number;
}

interface Entry {
  key: string;
  value: JsonValue;
  etag?: string;
  metadata?: { ttlInSeconds?: string };
  options?: { concurrency?: string };
}

export async function startFakeDaprState(component = "main"): Promise<FakeDaprState> {
  const entries = new Map<string, Kept>();
  let now = 0;
  let writes = 0;
  const find = (key: string) => {
    const kept = entries.get(key);
    return kept !== undefined && kept.expiresAt > now ? kept : undefined;
  };

  const save = ({ key, value, etag, metadata, options }: Entry): boolean => {
    const kept = find(key);
    if (etag !== undefined && kept?.etag !== etag) return false;
    const isFirstWrite = options?.concurrency === "first-write";
    if (etag === undefined && isFirstWrite && kept !== undefined) return false;
    writes += 1;
    const ttl = metadata?.ttlInSeconds;
    const expiresAt = ttl === undefined ? Infinity : now + Number(ttl) * 1000;
    entries.set(key, { value, etag: String(writes), expiresAt });
    return true;
  };

  const route = (
    request: IncomingMessage,
    path: string,
    body: string,
  ): [number, string, string?] => {
    const state = `/v1.0/state/${component}`;
    if (path === `/v1.0-alpha1/state/${component}/query`) {
      return [200, stringifyJson(query(parseJson(body) as JsonObject))];
    }
    if (request.method === "POST" && path === state) {
      const all = (parseJson(body) as unknown as Entry[]).map(save);
      return all.every(Boolean) ? [204, ""] : [409, `{"message":"possible etag mismatch"}`];
    }
    if (!path.startsWith(`${state}/`)) {
      return [400, `{"errorCode":"ERR_STATE_STORE_NOT_FOUND","message":"not found"}`];
    }
    const key = decodeURIComponent(path.slice(state.length + 1));
    const kept = find(key);
    if (request.method === "GET") {
      return kept === undefined ? [204, ""] : [200, stringifyJson(kept.value), kept.etag];
    }
    const match = request.headers["if-match"];
    if (match !== undefined && kept?.etag !== match) {
      return [409, `{"message":"possible etag mismatch"}`];
    }
    entries.delete(key);
    return [204, ""];
  };

  /** Pages of two, so that the token matters. */
  const query = ({ filter, page }: JsonObject): JsonObject => {
    const from = Number((page as JsonObject)["token"] ?? 0);
    const found = [...entries].filter(
      ([key, { value }]) => find(key) !== undefined && matches(filter as JsonObject, value),
    );
    const results = found
      .slice(from, from + 2)
      .map(([key, { value, etag }]) => ({ key, etag, data: value }));
    return { results, ...(found.length > from + 2 ? { token: String(from + 2) } : {}) };
  };

  const fake: FakeDaprState = {
    url: "",
    component,
    requests: [],
    answerWith: undefined,
    keys: () => [...entries.keys()],
    advance: (ms) => {
      now += ms;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      const { method = "", url = "", headers } = request;
      fake.requests.push({ method, path: url, headers, body });
      const [path = ""] = url.split("?");
      const given = fake.answerWith;
      const [status, text, etag] =
        given === undefined ? route(request, path, body) : [given.status, given.body];
      response.writeHead(status, etag === undefined ? {} : { etag }).end(text);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return fake;
}

/** The sidecar's own reading of a filter. */
function matches(filter: JsonObject, value: JsonValue): boolean {
  const [[operator, operand] = ["", null]] = Object.entries(filter);
  if (operator === "AND") return (operand as JsonObject[]).every((part) => matches(part, value));
  if (operator === "OR") return (operand as JsonObject[]).some((part) => matches(part, value));
  const [[path, wanted] = ["", null]] = Object.entries(operand as JsonObject);
  const found = path
    .split(".")
    .reduce<JsonValue | undefined>((at, name) => (at as JsonObject | undefined)?.[name], value);
  const all = operator === "IN" ? (wanted as JsonValue[]) : [wanted];
  return found !== undefined && all.some((one) => jsonEquals(one, found));
}
