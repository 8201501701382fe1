import type { Incident, IncidentStore } from "../incident-store.ts";
import type { Queries } from "./database.ts";

const columns = `
  id, state, transition, task, message, error_code, error_layer, status_code, boundary_action,
  boundary_level, trace_id, retry_count, created_at, resolved_at`;

const listIncidents = {
  name: "list-incidents",
  text: `
    select ${columns} from incident where instance_id = $1
    order by number desc offset $2 limit $3`,
};

const activeIncident = {
  name: "active-incident",
  text: `
    select ${columns} from incident where instance_id = $1 and resolved_at is null
    order by number desc limit 1`,
};

const resumeOfIncident = {
  name: "resume-of-incident",
  text: `
    select resume from incident where instance_id = $1 and resolved_at is null
    order by number desc limit 1`,
};

interface IncidentRow {
  id: string;
  state: string;
  transition: string;
  task: string | null;
  message: string;
  error_code: string | null;
  error_layer: string | null;
  status_code: number | null;
  boundary_action: string | null;
  boundary_level: string | null;
  trace_id: string | null;
  retry_count: number;
  created_at: Date;
  resolved_at: Date | null;
}

export const createIncidentStore = (queries: Queries): IncidentStore => ({
  async list(instanceId, skip, most) {
    const rows = await queries.query<IncidentRow>(listIncidents, [instanceId, skip, most]);
    return rows.map(toIncident);
  },
  async active(instanceId) {
    const [row] = await queries.query<IncidentRow>(activeIncident, [instanceId]);
    return row === undefined ? undefined : toIncident(row);
  },
  async resumeOf(instanceId) {
    const [row] = await queries.query<{ resume: string | null }>(resumeOfIncident, [instanceId]);
    return row?.resume ?? undefined;
  },
});

const toIncident = (row: IncidentRow): Incident => ({
  id: row.id,
  state: row.state,
  transition: row.transition,
  task: row.task ?? undefined,
  message: row.message,
  errorCode: row.error_code ?? undefined,
  errorLayer: row.error_layer ?? undefined,
  statusCode: row.status_code ?? undefined,
  boundaryAction: row.boundary_action ?? undefined,
  boundaryLevel: row.boundary_level ?? undefined,
  traceId: row.trace_id ?? undefined,
  retryCount: row.retry_count,
  createdAt: row.created_at,
  resolvedAt: row.resolved_at ?? undefined,
});
