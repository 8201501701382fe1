/** From `StateStore.Stores` and `StateStore.Name` to the stores themselves. */
import { StartRefusal } from "../../engine/start-refusal.ts";
import type { DaprSidecar } from "../../outgoing/dapr-sidecar.ts";
import type { Queries } from "../postgres/database.ts";
import { createPostgresStateStore } from "../postgres/postgres-state-store.ts";
import { keepSweeping } from "../postgres/sweep-state-entries.ts";
import type { StateStore, StateStores } from "../state-store.ts";
import { createDaprStateStore } from "./dapr-state-store.ts";
import { createMemoryStateStore } from "./memory-state-store.ts";
import { createRedisStateStore } from "./redis-state-store.ts";

export interface StateStoresOptions {
  /** `name=postgres`, `name=memory`, `name=redis://…`, `name=dapr:component`. */
  stores: readonly string[];
  defaultName: string;
  database: Queries;
  /** Undefined when none is configured. */
  dapr: DaprSidecar | undefined;
  /** How long one operation on a remote store may take. */
  timeoutMs: number;
  onTrouble: (event: string, error: unknown) => void;
}

/** Redis answers in milliseconds or not at all. */
const longestRedisWaitMs = 5000;

export function openStateStores(options: StateStoresOptions): StateStores {
  const { defaultName } = options;
  const places = placesOf(options.stores);
  refuseUnknownDefault(defaultName, places);
  const stores = new Map(
    [...places].map(([name, place]) => [name, openStore(options, name, place)]),
  );
  const stopSweeping = keepSweeping(options.database, options.onTrouble);
  return {
    names: [...stores.keys()],
    defaultName,
    find: (name) => stores.get(name),
    async close() {
      await stopSweeping();
      await Promise.all([...stores.values()].map((store) => store.close()));
    },
  };
}

/** The form of each entry has been checked with the other settings. */
function placesOf(entries: readonly string[]): ReadonlyMap<string, string> {
  const places = new Map<string, string>();
  for (const entry of entries) {
    const at = entry.indexOf("=");
    const name = entry.slice(0, at);
    if (places.has(name)) {
      throw new StartRefusal(
        `StateStore.Stores has '${name}' twice. Give each store a name of its own.`,
      );
    }
    places.set(name, entry.slice(at + 1));
  }
  return places;
}

function refuseUnknownDefault(defaultName: string, places: ReadonlyMap<string, string>): void {
  if (places.has(defaultName)) return;
  throw new StartRefusal(
    `StateStore.Name is '${defaultName}', which StateStore.Stores does not have; it has ${[...places.keys()].join(", ") || "none"}. Name one of these, or add '${defaultName}=postgres'.`,
  );
}

function openStore(options: StateStoresOptions, name: string, place: string): StateStore {
  const { database, dapr, timeoutMs, onTrouble } = options;
  if (place === "postgres") return createPostgresStateStore(database, name);
  if (place === "memory") return createMemoryStateStore({ now: Date.now });
  const [, component] = /^dapr:(.+)$/.exec(place) ?? [];
  if (component !== undefined) {
    if (dapr === undefined) {
      throw new StartRefusal(
        `StateStore.Stores has '${name}=${place}', which needs a sidecar. Set Dapr.HttpEndpoint, such as http://127.0.0.1:3500.`,
      );
    }
    return createDaprStateStore({ dapr, component, name, timeoutMs });
  }
  const redisTimeoutMs = Math.min(timeoutMs, longestRedisWaitMs);
  return createRedisStateStore({ url: place, name, timeoutMs: redisTimeoutMs, onTrouble });
}
