import {
  stateSubTypeCodes,
  stateTypeCodes,
  triggerTypeCodes,
} from "../../engine/enumeration-codes.ts";
import { rowsPerPage, type StoredRecord } from "../instance-store.ts";
import type { Queries } from "./database.ts";

const columns = `
  seq, id, transition_key, from_state, to_state, effective_state, effective_state_type,
  effective_state_sub_type, stage, trigger_type, started_at, finished_at, body, header,
  created_by, created_by_behalf_of`;

const byInstance = {
  name: "list-records",
  text: `select ${columns} from transition_record where instance_id = $1 order by seq`,
};

const page = {
  name: "list-record-page",
  text: `
    select ${columns} from transition_record where instance_id = $1 and seq > $2
    order by seq limit $3`,
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
  return (await queries.query<RecordRow>(byInstance, [instanceId])).map(recordOf);
}

export async function listRecordPage(
  queries: Queries,
  instanceId: string,
  after: number,
): Promise<StoredRecord[]> {
  return (await queries.query<RecordRow>(page, [instanceId, after, rowsPerPage])).map(recordOf);
}

function recordOf(row: RecordRow): StoredRecord {
  return {
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
  };
}
