/** Instances as rows. */
import { stateSubTypeCodes, stateTypeCodes } from "../../engine/enumeration-codes.ts";
import { parseJson, type JsonValue } from "../../engine/exact-json.ts";
import type { Instance, InstanceState, InstanceStatus, Origin } from "../../engine/instance.ts";

/** `data` comes as text: the driver's own parser would lose digits. */
export const instanceColumns = `
  i.id, i.domain, i.flow, i.key, i.flow_version, i.status::text as status, i.rev, i.last_seq,
  i.current_state, i.current_state_type, i.current_state_sub_type,
  i.effective_state, i.effective_state_type, i.effective_state_sub_type,
  i.stage, i.tags, i.data::text as data, i.data_version, i.entity_etag,
  i.created_at, i.created_by, i.created_by_behalf_of,
  i.modified_at, i.modified_by, i.modified_by_behalf_of, i.completed_at,
  i.incident_count, i.has_active_incident,
  i.origin, i.open_child, i.open_child_domain, i.open_child_flow`;

export interface InstanceRow {
  id: string;
  domain: string;
  flow: string;
  key: string | null;
  flow_version: string;
  status: InstanceStatus;
  rev: number;
  last_seq: number;
  current_state: string;
  current_state_type: number;
  current_state_sub_type: number;
  effective_state: string;
  effective_state_type: number;
  effective_state_sub_type: number;
  stage: string | null;
  tags: string[];
  data: string | null;
  data_version: string | null;
  entity_etag: string;
  created_at: Date;
  created_by: string | null;
  created_by_behalf_of: string | null;
  modified_at: Date | null;
  modified_by: string | null;
  modified_by_behalf_of: string | null;
  completed_at: Date | null;
  incident_count: number;
  has_active_incident: boolean;
  origin: string | null;
  open_child: string | null;
  open_child_domain: string | null;
  open_child_flow: string | null;
}

export const toInstance = (row: InstanceRow): Instance =>
  instanceWith(row, row.data === null ? undefined : parseJson(row.data));

/** For those who pass the data on as they are. */
export const toInstanceWithoutData = (row: InstanceRow): Instance => instanceWith(row, undefined);

function instanceWith(row: InstanceRow, data: JsonValue | undefined): Instance {
  return {
    id: row.id,
    domain: row.domain,
    flow: row.flow,
    key: row.key ?? undefined,
    flowVersion: row.flow_version,
    status: row.status,
    rev: row.rev,
    lastSeq: row.last_seq,
    current: state(row.current_state, row.current_state_type, row.current_state_sub_type),
    effective: state(row.effective_state, row.effective_state_type, row.effective_state_sub_type),
    stage: row.stage ?? undefined,
    tags: row.tags,
    data,
    dataVersion: row.data_version ?? undefined,
    entityEtag: row.entity_etag,
    createdAt: row.created_at,
    createdBy: {
      actor: row.created_by ?? undefined,
      behalfOf: row.created_by_behalf_of ?? undefined,
    },
    modifiedAt: row.modified_at ?? undefined,
    modifiedBy: {
      actor: row.modified_by ?? undefined,
      behalfOf: row.modified_by_behalf_of ?? undefined,
    },
    completedAt: row.completed_at ?? undefined,
    hasActiveIncident: row.has_active_incident,
    incidentCount: row.incident_count,
    origin: row.origin === null ? undefined : (JSON.parse(row.origin) as Origin),
    openChild:
      row.open_child === null
        ? undefined
        : {
            id: row.open_child,
            domain: row.open_child_domain ?? "",
            flow: row.open_child_flow ?? "",
          },
  };
}

const state = (key: string, type: number, subType: number): InstanceState => ({
  key,
  type: stateTypeCodes.wordOf(type),
  subType: stateSubTypeCodes.wordOf(subType),
});
