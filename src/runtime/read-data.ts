import { parseJson, type JsonValue } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { mergeData } from "../engine/merge-data.ts";
import { resolveVersion } from "../engine/version.ts";
import {
  rowsPerPage,
  type DeltaPlace,
  type InstanceStore,
  type StoredDelta,
} from "../storage/instance-store.ts";

/** The data as they were when record `lastSeq` had been made. */
export const dataUpTo = (
  store: InstanceStore,
  instance: Instance,
  lastSeq: number,
): Promise<Instance> => merged(store, instance, ({ seq }) => seq <= lastSeq);

/** The data at a version: exact, or the highest that `version` covers; undefined when none does. */
export async function dataAtVersion(
  store: InstanceStore,
  instance: Instance,
  version: string,
): Promise<Instance | undefined> {
  if (instance.dataVersion === undefined) return undefined;
  const versions = await store.dataVersions(instance.id);
  const found = resolveVersion(new Set(versions.map((each) => each.version)), version);
  if (found === undefined) return undefined;
  // The newest row inside the version: with strategy None several share one.
  const last = versions.findLast((each) => each.version === found)!;
  return merged(store, instance, (delta) => !isBehind(delta, last));
}

const isBehind = (a: DeltaPlace, b: DeltaPlace): boolean =>
  a.seq > b.seq || (a.seq === b.seq && a.index > b.index);

const beforeAll: DeltaPlace = { seq: -1, index: -1 };

/** Page by page: all that was ever merged may be a thousand times as large as the data. */
async function merged(
  store: InstanceStore,
  instance: Instance,
  isWanted: (delta: DeltaPlace) => boolean,
): Promise<Instance> {
  let data: JsonValue | undefined;
  let last: StoredDelta | undefined;
  for (let isOver = false; !isOver;) {
    const page = await store.deltaPage(instance.id, last ?? beforeAll);
    const wanted = page.filter(isWanted);
    for (const { delta, replaces } of wanted) {
      const value = parseJson(delta);
      data = data === undefined || replaces ? value : mergeData(data, value);
    }
    last = wanted.at(-1) ?? last;
    isOver = wanted.length < rowsPerPage;
  }
  return {
    ...instance,
    data,
    dataVersion: last?.version,
    entityEtag: last?.entityEtag ?? instance.entityEtag,
  };
}
