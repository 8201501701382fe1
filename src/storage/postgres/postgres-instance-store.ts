import type { InstanceStore } from "../instance-store.ts";
import type { Database } from "./database.ts";
import { createInstanceFinder } from "./find-instance.ts";
import { findMover } from "./find-mover.ts";
import { findRepeat } from "./find-repeat.ts";
import { lastManualAuthor } from "./last-manual-author.ts";
import type { Lanes } from "./gather.ts";
import { listRecordPage, listRecords } from "./list-records.ts";
import { readDataVersions, readDeltas } from "./read-deltas.ts";
import { findCorrelation, listCorrelations, listDescendants } from "./correlations.ts";
import { listHumanTasks } from "./list-human-tasks.ts";
import { listTimers } from "./list-timers.ts";
import { createRunWriter } from "./write-runs.ts";

export interface InstanceStoreOptions {
  /** How reads, and writes, gather into batches. */
  lanes: Lanes;
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
    hasMover: (instanceId, ownJob) => findMover(database, instanceId, ownJob),
    records: (instanceId) => listRecords(database, instanceId),
    recordPage: (instanceId, after) => listRecordPage(database, instanceId, after),
    lastManualAuthor: (instanceId) => lastManualAuthor(database, instanceId),
    dataVersions: (instanceId) => readDataVersions(database, instanceId),
    deltaPage: (instanceId, after) => readDeltas(database, instanceId, after),
    correlations: (parentId) => listCorrelations(database, parentId),
    descendants: (instanceId) => listDescendants(database, instanceId),
    humanTasks: (domain, most) => listHumanTasks(database, domain, most),
    timers: (instanceId) => listTimers(database, instanceId),
    correlationOf: (childId) => findCorrelation(database, childId),
    start: writer.start,
    write: writer.write,
  };
}
