/**
 * Entries as hashes of a Redis server: `data`, `version` (the etag) and `writer`. A write with a
 * condition is one script on the server, so that nothing comes between the look and the write.
 *
 * The connection is made in the background and made again when it is lost. Meanwhile callers are
 * told so, after a moment's patience with a server that restarts; nobody waits for long.
 */
import { createClient, defineScript, ErrorReply, type CommandParser } from "@redis/client";
import { parseJson, stringifyJson } from "../../engine/exact-json.ts";
import { StateStoreFailed, type SetOptions, type StateStore } from "../state-store.ts";

export interface RedisStateStoreOptions {
  url: string;
  /** The store's name, which all its keys start with: stores may share a server. */
  name: string;
  /** How long one operation may take. */
  timeoutMs: number;
  /** Told once when the server goes away, not at every attempt to reach it. */
  onTrouble: (event: string, error: unknown) => void;
}

const connectTimeoutMs = 2000;
/** How long an operation waits for a connection that was lost this moment. */
const patienceMs = 1000;
const longestPauseMs = 3000;
const closeTimeoutMs = 1000;

/**
 * ARGV: data, condition (always, absent, etag), etag, milliseconds to live or nothing, writer. A new
 * entry's version starts from the clock, so that the versions of a deleted one never come again.
 */
const set = defineScript({
  NUMBER_OF_KEYS: 1,
  SCRIPT: `
    local kept = redis.call('HMGET', KEYS[1], 'version', 'writer')
    local version = kept[1]
    local own = ARGV[5] ~= '' and kept[2] == ARGV[5]
    if ARGV[2] == 'absent' and version and not own then return false end
    if ARGV[2] == 'etag' and not (version and (version == ARGV[3] or own)) then return false end
    if version then
      version = redis.call('HINCRBY', KEYS[1], 'version', 1)
    else
      local time = redis.call('TIME')
      version = string.format('%.0f', time[1] * 1000000 + time[2])
      redis.call('HSET', KEYS[1], 'version', version)
    end
    redis.call('HSET', KEYS[1], 'data', ARGV[1], 'writer', ARGV[5])
    if ARGV[4] == '' then
      redis.call('PERSIST', KEYS[1])
    else
      redis.call('PEXPIRE', KEYS[1], ARGV[4])
    end
    return tostring(redis.call('HGET', KEYS[1], 'version'))`,
  parseCommand(parser: CommandParser, key: string, ...values: string[]) {
    parser.pushKey(key);
    parser.push(...values);
  },
  transformReply: (reply: unknown) => reply as string | null,
});

const deleteIf = defineScript({
  NUMBER_OF_KEYS: 1,
  SCRIPT: `
    local version = redis.call('HGET', KEYS[1], 'version')
    if version and version ~= ARGV[1] then return 0 end
    redis.call('DEL', KEYS[1])
    return 1`,
  parseCommand(parser: CommandParser, key: string, etag: string) {
    parser.pushKey(key);
    parser.push(etag);
  },
  transformReply: (reply: unknown) => reply as number,
});

export function createRedisStateStore(options: RedisStateStoreOptions): StateStore {
  const { name, timeoutMs, onTrouble } = options;
  const client = createClient({
    url: options.url,
    disableOfflineQueue: true,
    pingInterval: timeoutMs,
    socket: {
      connectTimeout: connectTimeoutMs,
      // A server that has gone silent: the pings are not answered.
      socketTimeout: 2 * timeoutMs,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, longestPauseMs),
    },
    scripts: { setEntry: set, deleteEntryIf: deleteIf },
  });
  let lost: { since: number; error: Error } | undefined;
  let closed = false;
  client.on("error", (error: Error) => {
    if (lost === undefined && !closed) onTrouble("StateStoreLost", error);
    lost ??= { since: performance.now(), error };
    lost.error = error;
  });
  client.on("ready", () => {
    lost = undefined;
  });
  // Rejects only when the store is closed before the first connection; every failure is an event.
  client.connect().catch(() => {});

  const unavailable = (cause: unknown) =>
    new StateStoreFailed(
      "unavailable",
      `The state store '${name}' does not answer (${reasonOf(cause)}). Check its Redis server and StateStore.Stores.`,
      { cause },
    );

  const connected = async () => {
    if (client.isReady) return;
    const patience =
      lost === undefined ? connectTimeoutMs : lost.since + patienceMs - performance.now();
    const isReady = patience > 0 && (await becomesReady(client, patience));
    if (!isReady) throw unavailable(lost?.error ?? new Error("no connection yet"));
  };

  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    await connected();
    try {
      return await withinTime(work(), timeoutMs);
    } catch (cause) {
      if (!(cause instanceof ErrorReply) || passingReplies.test(cause.message)) {
        throw unavailable(cause);
      }
      throw new StateStoreFailed(
        "refused",
        `The Redis server of the state store '${name}' refuses the command: ${cause.message}.`,
        { cause },
      );
    }
  };

  const owned = (key: string) => `${name}||${key}`;

  return {
    async get(key) {
      const [data, version] = await run(() => client.hmGet(owned(key), ["data", "version"]));
      if (data === null || data === undefined) return undefined;
      return { value: parseJson(data), etag: version ?? undefined };
    },
    async set(key, value, { ttlSeconds, when = "always", writer = "" } = {}) {
      const timeToLive = ttlSeconds === undefined ? "" : String(ttlSeconds * 1000);
      const etag = await run(() =>
        client.setEntry(owned(key), stringifyJson(value), ...conditionOf(when), timeToLive, writer),
      );
      return etag === null ? "conflict" : { etag };
    },
    async delete(key, { when = "always" } = {}) {
      if (when === "always") {
        await run(() => client.del(owned(key)));
        return "deleted";
      }
      const done = await run(() => client.deleteEntryIf(owned(key), when.etag));
      return done === 1 ? "deleted" : "conflict";
    },
    async deleteMany(keys) {
      // One command each: keys of a cluster may live on different nodes.
      await run(() => Promise.all(keys.map((key) => client.del(owned(key)))));
    },
    async deleteMatching() {
      throw new StateStoreFailed(
        "unsupported",
        `The state store '${name}' is a Redis server, which cannot search by value. Delete by 'key' or 'keys', or use a store in PostgreSQL.`,
      );
    },
    async close() {
      closed = true;
      if (client.isReady) await withinTime(client.close(), closeTimeoutMs).catch(() => {});
      if (client.isOpen) client.destroy();
    },
  };
}

/** The server is there and will do, only not now. */
const passingReplies = /^(LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|OOM|NOREPLICAS)\b/;

const conditionOf = (when: NonNullable<SetOptions["when"]>): [kind: string, etag: string] =>
  typeof when === "string" ? [when, ""] : ["etag", when.etag];

function becomesReady(
  client: {
    once(event: string, listener: () => void): unknown;
    off(event: string, listener: () => void): unknown;
  },
  patience: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => end(false), patience);
    const onReady = () => end(true);
    const end = (isReady: boolean) => {
      clearTimeout(timer);
      client.off("ready", onReady);
      resolve(isReady);
    };
    client.once("ready", onReady);
  });
}

async function withinTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Of an attempt on several addresses only the code says what happened. */
function reasonOf(cause: unknown): string {
  const { message, code } = cause as NodeJS.ErrnoException;
  return message === "" ? (code ?? "unknown") : message;
}
