/** A state-store component of a Dapr sidecar, over the sidecar's HTTP API. */
import {
  isJsonObject,
  parseJson,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from "../../engine/exact-json.ts";
import { daprPath, type DaprSidecar } from "../../outgoing/dapr-sidecar.ts";
import { OutgoingFailed, type OutgoingResponse } from "../../outgoing/http-client.ts";
import type { StateFilter } from "../state-filter.ts";
import { StateStoreFailed, type StateOptions, type StateStore } from "../state-store.ts";

export interface DaprStateStoreOptions {
  dapr: DaprSidecar;
  component: string;
  name: string;
  timeoutMs: number;
}

/** How many entries are deleted side by side: the API has no delete for many. */
const parallelDeletes = 8;
const pageSize = 100;

interface Call extends StateOptions {
  method: string;
  path: string;
  query?: Readonly<Record<string, string | undefined>> | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  body?: JsonValue | undefined;
}

type Send = (call: Call) => Promise<OutgoingResponse>;

export function createDaprStateStore(options: DaprStateStoreOptions): StateStore {
  const { name, component } = options;
  const send = sender(options);
  const pathOf = (key: string) => daprPath("v1.0", "state", component, key);

  const get: StateStore["get"] = async (key, { consistency, signal } = {}) => {
    const answer = await send({
      method: "GET",
      path: pathOf(key),
      query: { consistency },
      signal,
    });
    if (answer.status === 204 || answer.body.length === 0) return undefined;
    const value = readBody(answer, name);
    // An entry that is gone may come as null without an etag, by the component.
    const etag = answer.headers["etag"];
    return etag === undefined && value === null ? undefined : { value, etag };
  };

  const deleteOne: StateStore["delete"] = async (key, given = {}) => {
    const { when = "always", consistency, metadata, signal } = given;
    const isConditional = when !== "always";
    const answer = await send({
      method: "DELETE",
      path: pathOf(key),
      query: {
        concurrency: isConditional ? "first-write" : undefined,
        consistency,
        ...metadataQuery(metadata),
      },
      ...(isConditional ? { headers: { "if-match": when.etag } } : {}),
      signal,
    });
    if (answer.status !== 409) return "deleted";
    // Some components call an entry that is gone a mismatch.
    return (await get(key, { consistency, signal })) === undefined ? "deleted" : "conflict";
  };

  const deleteAll = async (
    entries: readonly { key: string; etag?: string | undefined }[],
    given: StateOptions | undefined,
  ): Promise<number> => {
    let deleted = 0;
    const rest = [...entries];
    const lane = async () => {
      for (let entry = rest.pop(); entry !== undefined; entry = rest.pop()) {
        const when = entry.etag === undefined ? "always" : { etag: entry.etag };
        if ((await deleteOne(entry.key, { ...given, when })) === "deleted") deleted += 1;
      }
    };
    await Promise.all(Array.from({ length: parallelDeletes }, lane));
    return deleted;
  };

  return {
    get,
    async set(key, value, given = {}) {
      const { when = "always", ttlSeconds, consistency, signal } = given;
      const metadata = {
        ...given.metadata,
        ...(ttlSeconds === undefined ? {} : { ttlInSeconds: String(ttlSeconds) }),
      };
      const entry: JsonObject = {
        key,
        value,
        ...(typeof when === "string" ? {} : { etag: when.etag }),
        ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
        options: {
          concurrency: when === "always" ? "last-write" : "first-write",
          ...(consistency === undefined ? {} : { consistency }),
        },
      };
      const answer = await send({
        method: "POST",
        path: daprPath("v1.0", "state", component),
        body: [entry],
        signal,
      });
      // The answer has no etag, and reading it afterwards might give that of somebody else's write.
      return answer.status === 409 ? "conflict" : { etag: undefined };
    },
    delete: deleteOne,
    async deleteMany(keys, given) {
      await deleteAll(
        keys.map((key) => ({ key })),
        given,
      );
    },
    async deleteMatching(prefix, filter, given) {
      const found = await findMatching(send, options, filter, given);
      return deleteAll(
        found.filter(({ key }) => key.startsWith(prefix)),
        given,
      );
    },
    close: async () => {},
  };
}

/** Any status below 400, and 409, is an answer to the caller. */
function sender({ dapr, name, timeoutMs }: DaprStateStoreOptions): Send {
  return async ({ method, path, query = {}, headers = {}, body, signal }) => {
    const parameters = new URLSearchParams(
      Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    const answer = await dapr
      .send({
        url: parameters.size === 0 ? path : `${path}?${parameters.toString()}`,
        method,
        headers: {
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: stringifyJson(body) }),
        timeoutMs,
        signal,
      })
      .catch((cause: unknown) => {
        signal?.throwIfAborted();
        if (!(cause instanceof OutgoingFailed)) throw cause;
        throw new StateStoreFailed(
          cause.isRetryable ? "unavailable" : "refused",
          `The Dapr sidecar behind the state store '${name}' gives no answer: ${cause.message}`,
          { cause },
        );
      });
    if (answer.status < 400 || answer.status === 409) return answer;
    const isAway = answer.status >= 500 || answer.status === 429;
    throw new StateStoreFailed(
      isAway ? "unavailable" : "refused",
      `The Dapr sidecar behind the state store '${name}' answers ${answer.status}: ${messageIn(answer)}`,
    );
  };
}

const metadataQuery = (metadata: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, value]));

interface Found {
  readonly key: string;
  readonly etag: string | undefined;
}

async function findMatching(
  send: Send,
  { component, name }: DaprStateStoreOptions,
  filter: StateFilter,
  given: StateOptions = {},
): Promise<Found[]> {
  const found: Found[] = [];
  let token: string | undefined;
  do {
    const answer = await send({
      method: "POST",
      path: daprPath("v1.0-alpha1", "state", component, "query"),
      body: {
        filter: daprFilter(filter),
        page: { limit: pageSize, ...(token === undefined ? {} : { token }) },
      },
      signal: given.signal,
    }).catch((cause: unknown) => {
      // The sidecar says 500 for a component without queries, as for everything else that fails.
      if (!(cause instanceof StateStoreFailed)) throw cause;
      throw new StateStoreFailed(
        "unsupported",
        `${cause.message} Queries need a component that has them; otherwise delete by 'key' or 'keys'.`,
        { cause },
      );
    });
    const page = answer.body.length === 0 ? {} : readBody(answer, name);
    const { results = [], token: next } = isJsonObject(page) ? page : {};
    const entries = Array.isArray(results) ? results.filter(isJsonObject) : [];
    for (const { key, etag } of entries) {
      if (typeof key !== "string") continue;
      found.push({ key, etag: typeof etag === "string" ? etag : undefined });
    }
    const isLast = typeof next !== "string" || next === "" || next === token;
    token = isLast || entries.length === 0 ? undefined : next;
  } while (token !== undefined);
  return found;
}

function daprFilter(filter: StateFilter): JsonObject {
  if (filter.kind === "in") {
    const path = filter.path.join(".");
    const [only] = filter.values;
    return filter.values.length === 1
      ? { EQ: { [path]: only! } }
      : { IN: { [path]: [...filter.values] } };
  }
  return { [filter.kind.toUpperCase()]: filter.filters.map(daprFilter) };
}

function readBody(answer: OutgoingResponse, name: string): JsonValue {
  const text = textOf(answer);
  try {
    return parseJson(text, deepestAnswer);
  } catch (cause) {
    throw new StateStoreFailed(
      "refused",
      `The state store '${name}' holds something that is not JSON: ${(cause as Error).message}`,
      { cause },
    );
  }
}

const deepestAnswer = 512;
const longestMessage = 300;

const textOf = ({ body }: OutgoingResponse) => new TextDecoder().decode(body);

function messageIn(answer: OutgoingResponse): string {
  const text = textOf(answer);
  try {
    const parsed = parseJson(text, deepestAnswer);
    const message = isJsonObject(parsed) ? parsed["message"] : undefined;
    if (typeof message === "string") return message.slice(0, longestMessage);
  } catch {
    // Not JSON: the text itself is all there is to show.
  }
  return text === "" ? answer.statusText : text.slice(0, longestMessage);
}
