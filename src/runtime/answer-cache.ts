/** Answers of functions that are kept for a while, in a state store of the configuration. */
import type { JsonValue } from "../engine/exact-json.ts";
import { findUnstorable } from "../engine/storable-json.ts";
import { StorageUnavailable } from "../engine/storage-unavailable.ts";
import { StateStoreFailed, type StateStore, type StateStores } from "../storage/state-store.ts";
import { ownPrefix } from "../tasks/state-access.ts";

export interface AnswerCache {
  /** What was kept; throws `CacheTrouble` when the store cannot tell. */
  read(place: CachePlace): Promise<JsonValue | undefined>;
  /** An entry as tasks of type 17 know it: the generation of a set of answers. */
  readOfTasks(place: CachePlace): Promise<JsonValue | undefined>;
  keep(place: CachePlace, value: JsonValue, ttlSeconds: number | undefined): Promise<void>;
}

export interface CachePlace {
  /** The configured default without one. */
  readonly storeName: string | undefined;
  readonly key: string;
  readonly consistency: "eventual" | "strong";
  readonly signal: AbortSignal;
}

export class CacheTrouble extends Error {
  override readonly name = "CacheTrouble";
}

/** The engine's own entries; no task can name one (`custom:` stands before all of theirs). */
const prefix = "function:";

export function createAnswerCache(stores: StateStores): AnswerCache {
  const at = <T>(
    { storeName = stores.defaultName }: CachePlace,
    work: (s: StateStore) => Promise<T>,
  ) =>
    orTrouble(() => {
      const store = stores.find(storeName);
      if (store !== undefined) return work(store);
      throw new CacheTrouble(
        `There is no state store '${storeName}'. Known are ${stores.names.join(", ")}.`,
      );
    });
  const readAt = (place: CachePlace, key: string) =>
    at(place, async (store) => (await store.get(key, place))?.value);
  return {
    read: (place) => readAt(place, prefix + place.key),
    readOfTasks: (place) => readAt(place, ownPrefix + place.key),
    async keep(place, value, ttlSeconds) {
      // What not every store could hold is an answer like any other, only not kept.
      if (findUnstorable(value) !== undefined) return;
      await at(place, (store) => store.set(prefix + place.key, value, { ...place, ttlSeconds }));
    },
  };
}

async function orTrouble<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StateStoreFailed || error instanceof StorageUnavailable)) throw error;
    throw new CacheTrouble(error.message, { cause: error });
  }
}
