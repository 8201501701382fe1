/**
 * The definitions this node knows.
 *
 * Which versions exist is held in memory whole, so resolving a reference costs no query. The
 * definitions themselves are read when first used and kept with whatever was compiled from them; a
 * version never changes, so nothing is ever invalidated.
 *
 * Other nodes publish too. A notification tells at once, a poll every second tells when the
 * notification was lost, and a lookup that finds nothing asks the database before it gives up.
 */
import { LRUCache } from "lru-cache";
import {
  createComponentIndex,
  type Component,
  type ComponentAddress,
  type ComponentVersion,
} from "../engine/component.ts";
import type { ComponentKind } from "../engine/component-kind.ts";
import type { ComponentStore } from "../storage/component-store.ts";

export interface Catalogue {
  /** From memory; may miss what another node published a moment ago. */
  resolve(address: ComponentAddress, wanted?: string): ComponentVersion | undefined;
  /** Like `resolve`, but a miss is checked against the database. */
  find(address: ComponentAddress, wanted?: string): Promise<ComponentVersion | undefined>;
  /** Every version known here, in no order. */
  versions(address: ComponentAddress): readonly ComponentVersion[];
  /** The latest version of every component of a kind that is known here, in no order. */
  latest(domain: string, kind: ComponentKind): readonly ComponentVersion[];
  load(version: ComponentVersion): Promise<Component>;
  /** What `compile` makes of the component, made once per version and kept beside it. */
  compiled<T>(version: ComponentVersion, compile: (component: Component) => T): Promise<T>;
  /** Takes in what this node has just published, without waiting for its own notification. */
  add(versions: ComponentVersion[]): void;
  /** Reads what is new since the last look. Callers at the same moment share one look. */
  catchUp(): Promise<void>;
  /** Forgets everything and reads it anew. */
  reload(): Promise<void>;
  /** Every second, until the returned function is called. */
  poll(onError: (error: unknown) => void): () => void;
  readonly size: number;
}

const pollMs = 1000;
const keptCharacters = 64 * 1024 * 1024;

interface Kept {
  component: Component;
  compiled: Map<unknown, unknown>;
}

export function createCatalogue(store: ComponentStore): Catalogue {
  let index = createComponentIndex();
  const kept = new LRUCache<string, Kept>({
    maxSize: keptCharacters,
    sizeCalculation: (entry) => entry.component.attributesText.length + 512,
  });
  const reading = new Map<string, Promise<Kept>>();
  let revision = 0;
  let looking: Promise<void> | undefined;
  let lookAgain: Promise<void> | undefined;

  const look = async () => {
    const changes = await store.changesSince(revision);
    for (const version of changes.versions) index.add(version);
    revision = Math.max(revision, changes.revision);
  };

  // A caller that comes while a look is under way may have been told of something newer than that
  // look will see, so it waits for the next one; all such callers share it.
  const catchUp = (): Promise<void> => {
    if (looking === undefined) {
      looking = look().finally(() => {
        looking = undefined;
      });
      return looking;
    }
    lookAgain ??= looking
      .catch(() => {})
      .then(() => {
        lookAgain = undefined;
        return catchUp();
      });
    return lookAgain;
  };

  const keep = async (version: ComponentVersion): Promise<Kept> => {
    const id = `${version.componentId}@${version.version}`;
    const there = kept.get(id);
    if (there !== undefined) return there;
    let read = reading.get(id);
    if (read === undefined) {
      read = store
        .find(version.componentId, version.version)
        .then((component) => {
          if (component === undefined) {
            throw new Error(`${version.kind} ${version.key} ${version.version} has disappeared`);
          }
          const entry: Kept = { component, compiled: new Map() };
          kept.set(id, entry);
          return entry;
        })
        .finally(() => reading.delete(id));
      reading.set(id, read);
    }
    return read;
  };

  const resolve: Catalogue["resolve"] = (address, wanted) => index.resolve(address, wanted);

  return {
    resolve,
    async find(address, wanted) {
      const found = resolve(address, wanted);
      if (found !== undefined) return found;
      if ((await store.revision()) > revision) await catchUp();
      return resolve(address, wanted);
    },
    versions: (address) => index.versions(address),
    latest: (domain, kind) => index.latest(domain, kind),
    async load(version) {
      return (await keep(version)).component;
    },
    async compiled<T>(version: ComponentVersion, compile: (component: Component) => T): Promise<T> {
      const entry = await keep(version);
      if (!entry.compiled.has(compile)) entry.compiled.set(compile, compile(entry.component));
      return entry.compiled.get(compile) as T;
    },
    add(versions) {
      for (const version of versions) index.add(version);
    },
    catchUp,
    async reload() {
      // Read first, swap then: lookups in the meantime find what they found before.
      const changes = await store.changesSince(0);
      const fresh = createComponentIndex();
      for (const version of changes.versions) fresh.add(version);
      index = fresh;
      revision = changes.revision;
      kept.clear();
    },
    poll(onError) {
      let asking = false;
      const timer = setInterval(() => {
        // A database that hangs is asked once, not once a second.
        if (asking) return;
        asking = true;
        store
          .revision()
          .then((current) => (current > revision ? catchUp() : undefined))
          .catch(onError)
          .finally(() => {
            asking = false;
          });
      }, pollMs);
      timer.unref();
      return () => clearInterval(timer);
    },
    get size() {
      return index.size;
    },
  };
}
