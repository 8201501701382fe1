/**
 * Entries of this process alone, gone when it ends. Bounded: when it is full, what was used least
 * recently makes room.
 */
import { LRUCache } from "lru-cache";
import { parseJson, stringifyJson } from "../../engine/exact-json.ts";
import { matches } from "../state-filter.ts";
import type { SetOptions, StateStore } from "../state-store.ts";

export interface MemoryStateStoreOptions {
  now: () => number;
  /** Of keys and values together, in UTF-16 units. */
  largest?: number;
}

interface Kept {
  readonly text: string;
  readonly etag: string;
  readonly expiresAt: number;
  readonly writer: string | undefined;
}

const defaultLargest = 32 * 1024 * 1024;
const sweepEveryMs = 60_000;

export function createMemoryStateStore(options: MemoryStateStoreOptions): StateStore {
  const { now, largest = defaultLargest } = options;
  const entries = new LRUCache<string, Kept>({
    maxSize: largest,
    sizeCalculation: ({ text }, key) => text.length + key.length + 1,
  });
  let writes = 0;

  const find = (key: string): Kept | undefined => {
    const kept = entries.get(key);
    if (kept === undefined || kept.expiresAt > now()) return kept;
    entries.delete(key);
    return undefined;
  };
  const live = () => [...entries.entries()].filter(([, { expiresAt }]) => expiresAt > now());
  const sweep = () => {
    const expired = [...entries.entries()].filter(([, { expiresAt }]) => expiresAt <= now());
    for (const [key] of expired) entries.delete(key);
  };
  const sweeping = setInterval(sweep, sweepEveryMs).unref();

  return {
    async get(key) {
      const kept = find(key);
      return kept && { value: parseJson(kept.text), etag: kept.etag };
    },
    async set(key, value, { ttlSeconds, when = "always", writer } = {}) {
      if (!mayWrite(find(key), when, writer)) return "conflict";
      writes += 1;
      const etag = String(writes);
      const expiresAt = ttlSeconds === undefined ? Infinity : now() + ttlSeconds * 1000;
      entries.set(key, { text: stringifyJson(value), etag, expiresAt, writer });
      return { etag };
    },
    async delete(key, { when = "always" } = {}) {
      const kept = find(key);
      if (kept !== undefined && when !== "always" && when.etag !== kept.etag) return "conflict";
      entries.delete(key);
      return "deleted";
    },
    async deleteMany(keys) {
      for (const key of keys) entries.delete(key);
    },
    async deleteMatching(prefix, filter) {
      const found = live().filter(
        ([key, { text }]) => key.startsWith(prefix) && matches(filter, parseJson(text)),
      );
      for (const [key] of found) entries.delete(key);
      return found.length;
    },
    async close() {
      clearInterval(sweeping);
      entries.clear();
    },
  };
}

function mayWrite(
  kept: Kept | undefined,
  when: NonNullable<SetOptions["when"]>,
  writer: string | undefined,
): boolean {
  if (when === "always") return true;
  if (kept === undefined) return when === "absent";
  if (writer !== undefined && kept.writer === writer) return true;
  return when !== "absent" && when.etag === kept.etag;
}
