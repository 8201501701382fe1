import { parseJson, type JsonValue } from "../engine/exact-json.ts";
import type { Instance } from "../engine/instance.ts";
import { mergeData } from "../engine/merge-data.ts";
import { resolveVersion } from "../engine/version.ts";
import type { InstanceStore, StoredDelta } from "../storage/instance-store.ts";

/** The data as they were when record `lastSeq` had been made. */
export async function dataUpTo(
  store: InstanceStore,
  instance: Instance,
  lastSeq: number,
): Promise<Instance> {
  const deltas = await store.deltas(instance.id);
  return withDeltas(
    instance,
    deltas.filter((delta) => delta.seq <= lastSeq),
  );
}

/** The data at a version: exact, or the highest that `version` covers; undefined when none does. */
export async function dataAtVersion(
  store: InstanceStore,
  instance: Instance,
  version: string,
): Promise<Instance | undefined> {
  if (instance.dataVersion === undefined) return undefined;
  const deltas = await store.deltas(instance.id);
  const found = resolveVersion(new Set(deltas.map((delta) => delta.version)), version);
  if (found === undefined) return undefined;
  // The newest row inside the version: with strategy None several share one.
  const last = deltas.findLastIndex((delta) => delta.version === found);
  return withDeltas(instance, deltas.slice(0, last + 1));
}

function withDeltas(instance: Instance, deltas: readonly StoredDelta[]): Instance {
  let data: JsonValue | undefined;
  for (const { delta, replaces } of deltas) {
    const value = parseJson(delta);
    data = data === undefined || replaces ? value : mergeData(data, value);
  }
  const last = deltas.at(-1);
  return {
    ...instance,
    data,
    dataVersion: last?.version,
    entityEtag: last?.entityEtag ?? instance.entityEtag,
  };
}
