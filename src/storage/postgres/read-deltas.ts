import {
  rowsPerPage,
  type DataVersion,
  type DeltaPlace,
  type StoredDelta,
} from "../instance-store.ts";
import type { Queries } from "./database.ts";

// A record's own body comes before what its tasks brought.
const versions = {
  name: "read-data-versions",
  text: `
    select seq, -1 as index, data_version as version
    from transition_record where instance_id = $1 and data_version is not null
    union all
    select record_seq, index, version from data_change where instance_id = $1
    order by seq, index`,
};

const page = {
  name: "read-deltas",
  text: `
    select seq, index, version, "entityEtag", delta, replaces from (
      select seq, -1 as index, data_version as version, entity_etag as "entityEtag", body as delta,
        false as replaces
      from transition_record where instance_id = $1 and data_version is not null
      union all
      select record_seq, index, version, entity_etag, delta, replaces
      from data_change where instance_id = $1) d
    where (seq, index) > ($2::integer, $3::integer) order by seq, index limit $4`,
};

export const readDataVersions = (queries: Queries, instanceId: string): Promise<DataVersion[]> =>
  queries.query<DataVersion>(versions, [instanceId]);

/** What was merged into an instance's data, in order, from a place on. */
export const readDeltas = (
  queries: Queries,
  instanceId: string,
  { seq, index }: DeltaPlace,
): Promise<StoredDelta[]> =>
  queries.query<StoredDelta>(page, [instanceId, seq, index, rowsPerPage]);
