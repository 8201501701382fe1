import type { InstanceStore } from "../instance-store.ts";
import type { Database } from "./database.ts";
import { createInstanceFinder } from "./find-instance.ts";
import { findRepeat } from "./find-repeat.ts";
import { lastManualAuthor } from "./last-manual-author.ts";
import { listRecords } from "./list-records.ts";
import { readDeltas } from "./read-deltas.ts";
import { findCorrelation, listCorrelations } from "./correlations.ts";
import { createRunWriter } from "./write-runs.ts";

export interface InstanceStoreOptions {
  /** Batches under way at once, for reads and for writes each. */
  lanes: number;
  /** How long a claimed job stays this node's. */
  leaseSeconds: number;
}

export function createInstanceStore(
  database: Database,
  options: InstanceStoreOptions,
): InstanceStore {
  const writer = createRunWriter(database, options);
  return {
    find: createInstanceFinder(database, options.lanes),
    findRepeat: (repeat) => findRepeat(database, repeat),
    records: (instanceId) => listRecords(database, instanceId),
    lastManualAuthor: (instanceId) => lastManualAuthor(database, instanceId),
    deltas: (instanceId) => readDeltas(database, instanceId),
    correlations: (parentId) => listCorrelations(database, parentId),
    correlationOf: (childId) => findCorrelation(database, childId),
    start: writer.start,
    write: writer.write,
  };
}
