import {
  stateSubTypeCodes,
  stateTypeCodes,
  triggerTypeCodes,
} from "../../engine/enumeration-codes.ts";
import type { StoredRecord } from "../instance-store.ts";
import type { Queries } from "./database.ts";

const byInstance = {
  name: "list-records",
  text: `
    select seq, id, transition_key, from_state, to_state, effective_state, effective_state_type,
      effective_state_sub_type, stage, trigger_type, started_at, finished_at, body, header,
      created_by, created_by_behalf_of
    from transition_record where instance_id = $1 order by seq`,
};

interface RecordRow {
  seq: number;
  id: string;
  transition_key: string;
  from_state: string;
  to_state: string | null;
  effective_state: string | null;
  effective_state_type: number | null;
  effective_state_sub_type: number | null;
  stage: string | null;
  trigger_type: number;
  started_at: Date;
  finished_at: Date | null;
  body: string | null;
  header: string | null;
  created_by: string | null;
  created_by_behalf_of: string | null;
}

/** Oldest first. */
export async function listRecords(queries: Queries, instanceId: string): Promise<StoredRecord[]> {
  const rows = await queries.query<RecordRow>(byInstance, [instanceId]);
  return rows.map((row) => ({
    seq: row.seq,
    id: row.id,
    transitionKey: row.transition_key,
    fromState: row.from_state,
    toState: row.to_state ?? undefined,
    effective:
      row.effective_state === null
        ? undefined
        : {
            key: row.effective_state,
            type: stateTypeCodes.wordOf(row.effective_state_type!),
            subType: stateSubTypeCodes.wordOf(row.effective_state_sub_type!),
          },
    stage: row.stage ?? undefined,
    trigger: triggerTypeCodes.wordOf(row.trigger_type),
    startedAt: row.started_at,
    finishedAt: row.finished_at ?? undefined,
    bodyText: row.body ?? undefined,
    headerText: row.header ?? undefined,
    author: {
      actor: row.created_by ?? undefined,
      behalfOf: row.created_by_behalf_of ?? undefined,
    },
  }));
}
