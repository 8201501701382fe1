import type { StoredDelta } from "../instance-store.ts";
import type { Queries } from "./database.ts";

// A record's own body comes before what its tasks brought.
const byInstance = {
  name: "read-deltas",
  text: `
    select seq, -1 as index, data_version as version, entity_etag as "entityEtag", body as delta,
      false as replaces
    from transition_record where instance_id = $1 and data_version is not null
    union all
    select record_seq, index, version, entity_etag, delta, replaces from data_change where instance_id = $1
    order by seq, index`,
};

/** Everything that was ever merged into an instance's data, in order. */
export const readDeltas = (queries: Queries, instanceId: string): Promise<StoredDelta[]> =>
  queries.query<StoredDelta>(byInstance, [instanceId]);
