/**
 * Writes what runs have decided: one statement, one commit, for as many runs as wait at the moment.
 * Each instance's row is the gate: it is changed only where its rev is still the one the run was
 * decided on, and everything else of that run (records, timers, jobs, incident) is joined to it.
 */
import type { RunWrite, StartResult } from "../instance-store.ts";
import type { Queries } from "./database.ts";
import { createGather, type Gather, type Lanes } from "./gather.ts";
import { fitsOneRow, writeOneRun } from "./write-one-run.ts";
import {
  checkpointRows,
  closingRows,
  correlationRows,
  dataChangeRows,
  incidentRows,
  instanceRows,
  jobRemovalRows,
  jobRows,
  outcomeRows,
  recordRows,
  relativeRows,
} from "./run-parameters.ts";

const instanceFields = `
  id uuid, base bigint, domain text, flow text, key text, flow_version text, status text, last_seq int,
  current_state text, current_state_type smallint, current_state_sub_type smallint,
  effective_state text, effective_state_type smallint, effective_state_sub_type smallint,
  stage text, tags text[], data_changed boolean, data jsonb, data_version text, entity_etag text,
  created_at timestamptz, created_by text, created_by_behalf_of text,
  modified_at timestamptz, modified_by text, modified_by_behalf_of text, completed_at timestamptz,
  incident_count int, has_active_incident boolean,
  origin text, is_expected boolean, child_changed boolean, open_child uuid, open_child_domain text, open_child_flow text`;

const updated = `
  with w as materialized (select * from json_to_recordset($1) as w(${instanceFields})),
  done as (
    update instance i set
      status = w.status::"char", rev = i.rev + 1, last_seq = w.last_seq,
      current_state = w.current_state, current_state_type = w.current_state_type,
      current_state_sub_type = w.current_state_sub_type,
      effective_state = w.effective_state, effective_state_type = w.effective_state_type,
      effective_state_sub_type = w.effective_state_sub_type,
      stage = w.stage, tags = w.tags,
      data = case when w.data_changed then w.data else i.data end,
      data_version = w.data_version, entity_etag = w.entity_etag,
      modified_at = w.modified_at, modified_by = w.modified_by,
      modified_by_behalf_of = w.modified_by_behalf_of, completed_at = w.completed_at,
      incident_count = w.incident_count, has_active_incident = w.has_active_incident,
      open_child = case when w.child_changed then w.open_child else i.open_child end,
      open_child_domain =
        case when w.child_changed then w.open_child_domain else i.open_child_domain end,
      open_child_flow = case when w.child_changed then w.open_child_flow else i.open_child_flow end
    from w where i.id = w.id and i.rev = w.base
    returning i.id)`;

// A key is held by the instance that has not completed, also against one that completes at once and
// so never enters the unique index.
const inserted = `
  with w as materialized (select * from json_to_recordset($1) as w(${instanceFields})),
  done as (
    insert into instance (id, domain, flow, key, flow_version, status, rev, last_seq,
      current_state, current_state_type, current_state_sub_type,
      effective_state, effective_state_type, effective_state_sub_type,
      stage, tags, data, data_version, entity_etag, created_at, created_by, created_by_behalf_of,
      modified_at, modified_by, modified_by_behalf_of, completed_at, incident_count, has_active_incident,
      origin, open_child, open_child_domain, open_child_flow)
    select id, domain, flow, key, flow_version, status::"char", 1, last_seq,
      current_state, current_state_type, current_state_sub_type,
      effective_state, effective_state_type, effective_state_sub_type,
      stage, tags, data, data_version, entity_etag, created_at, created_by, created_by_behalf_of,
      modified_at, modified_by, modified_by_behalf_of, completed_at, incident_count, has_active_incident,
      origin, open_child, open_child_domain, open_child_flow
    from w where (w.key is null or not exists (
      select from instance i where i.domain = w.domain and i.flow = w.flow and i.key = w.key
        and i.status not in ('C', 'P')))
      -- a child whose parent has moved on is not started any more
      and (not w.is_expected or exists (
        select from correlation c where c.child_id = w.id and c.completed_at is null))
    on conflict do nothing
    returning id)`;

const records = `
  rec as (
    insert into transition_record (instance_id, seq, id, transition_key, from_state, to_state,
      effective_state, effective_state_type, effective_state_sub_type, stage, trigger_type,
      started_at, finished_at, body, data_version, entity_etag, header, created_by,
      created_by_behalf_of, idempotency_key, outcome_status, outcome_seq)
    select instance_id, seq, r.id, transition_key, from_state, to_state,
      effective_state, effective_state_type, effective_state_sub_type, stage, trigger_type,
      started_at, finished_at, body::text, data_version, entity_etag, header::text, created_by,
      created_by_behalf_of, idempotency_key, outcome_status::"char", outcome_seq
    from json_to_recordset($2) as r(instance_id uuid, seq int, id uuid, transition_key text,
      from_state text, to_state text, effective_state text, effective_state_type smallint,
      effective_state_sub_type smallint, stage text, trigger_type smallint, started_at timestamptz,
      finished_at timestamptz, body json, data_version text, entity_etag text, header json,
      created_by text, created_by_behalf_of text, idempotency_key text, outcome_status text,
      outcome_seq int)
    join done on done.id = r.instance_id
    -- a record that was open at a checkpoint is closed
    on conflict (instance_id, seq) do update set to_state = excluded.to_state,
      effective_state = excluded.effective_state,
      effective_state_type = excluded.effective_state_type,
      effective_state_sub_type = excluded.effective_state_sub_type, stage = excluded.stage,
      finished_at = excluded.finished_at, body = excluded.body,
      data_version = excluded.data_version, entity_etag = excluded.entity_etag,
      outcome_status = excluded.outcome_status, outcome_seq = excluded.outcome_seq)`;

const work = `
  changes as (
    insert into data_change (instance_id, record_seq, index, version, entity_etag, delta)
    select instance_id, record_seq, index, version, entity_etag, delta::text
    from json_to_recordset($3) as c(instance_id uuid, record_seq int, index int, version text,
      entity_etag text, delta json)
    join done on done.id = c.instance_id
    on conflict do nothing),
  removed as (
    delete from job j using json_to_recordset($4) as d(instance_id uuid, everything boolean,
      states text[], job_id uuid, keep text[], other_than uuid, spared text), done
    where done.id = d.instance_id and j.instance_id = d.instance_id and j.name <> all (d.keep)
      and ((d.everything and j.kind <> 'sn') or j.id = d.job_id or (j.kind = 'sx' and j.source_state = any (d.states))
        -- a resumption that has not begun is no run yet
        or ((j.kind = 'tx' or (j.kind in ('rs', 'la') and j.payload::json -> 'checkpoint' is not null))
          and j.id <> d.other_than
          -- an update of the data that has taken an automatic transition since is a run like any other
          and (j.transition_key is distinct from d.spared
            or j.payload::json #>> '{checkpoint,kind}' <> 'updateData')))),
  added as (
    insert into job (id, name, kind, instance_id, source_state, transition_key, payload, owner,
      ready_at, attempts, created_at)
    select j.id, name, kind, instance_id, source_state, transition_key, payload, owner,
      case when owner is not null then now() + make_interval(secs => $7)
        else coalesce(due_at, now() + make_interval(secs => coalesce(delay_ms, 0) / 1000.0)) end,
      case when owner is null then 0 else 1 end, now()
    from json_to_recordset($5) as j(writer uuid, id uuid, name text, kind text, instance_id uuid,
      source_state text, transition_key text, payload text, owner uuid, delay_ms float8,
      due_at timestamptz)
    join done on done.id = j.writer
    -- a timeout is set once: a start that is retried does not put it off
    on conflict (name) where kind <> 'tx' do update set id = excluded.id, payload = excluded.payload,
      owner = excluded.owner, ready_at = excluded.ready_at, attempts = excluded.attempts
    where job.kind <> 'to'),
  checkpoints as (
    update job j set payload = c.payload
    from json_to_recordset($8) as c(instance_id uuid, job_id uuid, payload text), done
    where done.id = c.instance_id and j.id = c.job_id),
  outcomes as (
    update transition_record r set outcome_status = o.status::"char", outcome_seq = o.last_seq
    from json_to_recordset($9) as o(instance_id uuid, seq int, status text, last_seq int), done
    where done.id = o.instance_id and r.instance_id = o.instance_id and r.seq = o.seq),
  -- what other runs left unfinished ends here, also for whoever repeats their requests
  closed as (
    update transition_record r set finished_at = coalesce(r.finished_at, now()),
      outcome_status = coalesce(r.outcome_status, c.status::"char"),
      outcome_seq = coalesce(r.outcome_seq, c.last_seq)
    from json_to_recordset($10) as c(instance_id uuid, status text, last_seq int, own int[],
      spared text), done
    where done.id = c.instance_id and r.instance_id = c.instance_id and r.seq <> all (c.own)
      -- the update that faulted the instance has no job any more that would close its record
      and (r.transition_key is distinct from c.spared or not exists (
        select from job j where j.instance_id = r.instance_id and j.kind = 'tx'
          and j.payload::json #>> '{checkpoint,recordId}' = r.id::text))
      and (r.finished_at is null or (r.idempotency_key is not null and r.outcome_status is null))),
  incidents as (
    insert into incident (id, instance_id, number, state, transition, task, message, error_code,
      error_layer, status_code, boundary_action, boundary_level, trace_id, retry_count, resume,
      created_at, resolved_at)
    select n.id, instance_id, number, state, transition, task, message, error_code,
      error_layer, status_code, boundary_action, boundary_level, trace_id, retry_count, resume,
      now(), case when is_resolved then now() end
    from json_to_recordset($6) as n(id uuid, instance_id uuid, number int, state text,
      transition text, task text, message text, error_code text, error_layer text,
      status_code int, boundary_action text, boundary_level text, trace_id text, retry_count int,
      is_resolved boolean, resume text)
    join done on done.id = n.instance_id),
  relatives as materialized (
    select r.* from json_to_recordset($11) as r(writer uuid, what text, other uuid, outcome text,
      retried int, waits_for uuid, state text, state_type smallint, state_sub_type smallint)
    join done on done.id = r.writer),
  resolved as (
    update incident n set resolved_at = now(), retry_count = n.retry_count + r.retried, resume = null
    from relatives r
    where r.what = 'resolved' and n.instance_id = r.writer and n.resolved_at is null),
  -- timers that came due while the instance was Faulted, and updates of the data that were accepted
  -- before; nothing else of a retry touches them
  woken as (
    update job j set ready_at = now() from relatives r
    where r.what = 'resolved' and r.retried = 1 and j.instance_id = r.writer
      and j.kind in ('sx', 'to', 'la', 'tx') and j.attempts > 0 and j.owner is null),
  correlations as (
    insert into correlation (id, parent_id, parent_state, child_id, kind, child_domain, child_flow,
      child_version, created_at)
    select c.id, parent_id, parent_state, child_id, kind::"char", child_domain, child_flow,
      child_version, now()
    from json_to_recordset($12) as c(writer uuid, id uuid, parent_id uuid, parent_state text, child_id uuid,
      kind text, child_domain text, child_flow text, child_version text)
    join done on done.id = c.writer
    on conflict do nothing),
  -- a subprocess is nobody's concern: its own end is the end of its correlation
  children as (
    update correlation c set outcome = r.outcome,
      completed_at = case when r.what = 'ended' or (c.kind = 'P' and r.outcome is not null)
        then now() else c.completed_at end
    from relatives r where r.what in ('ended', 'outcome') and c.child_id = r.other),
  shown as (
    update instance i set rev = i.rev + 1, effective_state = r.state,
      effective_state_type = r.state_type, effective_state_sub_type = r.state_sub_type
    from relatives r
    where r.what = 'shows' and i.id = r.other and i.open_child = r.waits_for)`;

const ids = "select id from done";

// Most runs change an instance and add records; the lean form spares them the other tables.
const statements = {
  updateLean: { name: "update-runs", text: `${updated}, ${records} ${ids}` },
  updateFull: { name: "update-runs-full", text: `${updated}, ${records}, ${work} ${ids}` },
  insertLean: { name: "insert-runs", text: `${inserted}, ${records} ${ids}` },
  insertFull: { name: "insert-runs-full", text: `${inserted}, ${records}, ${work} ${ids}` },
};

/**
 * A child's write changes its parent's row after its own; two such batches may wait for each other.
 * The server ends one of them, which has written nothing then.
 */
async function withoutDeadlock<T>(attemptIt: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptIt();
    } catch (error) {
      if (attempt === mostAttempts || !isDeadlock(error)) throw error;
    }
  }
}

const mostAttempts = 5;

const isDeadlock = (error: unknown) =>
  error instanceof Error && (error.cause as { code?: unknown } | undefined)?.code === "40P01";

export interface RunWriter {
  start(write: RunWrite): Promise<StartResult>;
  write(write: RunWrite): Promise<boolean>;
}

export function createRunWriter(
  queries: Queries,
  options: { lanes: Lanes; leaseSeconds: number },
): RunWriter {
  const send = async (writes: RunWrite[], isNew: boolean): Promise<boolean[]> => {
    // The same order on every connection and node, so that batches do not lock crosswise.
    const sorted = writes.toSorted((a, b) => (a.instance.id < b.instance.id ? -1 : 1));
    const values: unknown[] = [instanceRows(sorted), recordRows(sorted)];
    const lean = sorted.every(isLean);
    if (!lean) {
      values.push(
        dataChangeRows(sorted),
        jobRemovalRows(sorted),
        jobRows(sorted),
        incidentRows(sorted),
        options.leaseSeconds,
        checkpointRows(sorted),
        outcomeRows(sorted),
        closingRows(sorted),
        relativeRows(sorted),
        correlationRows(sorted),
      );
    }
    const form = isNew ? "insert" : "update";
    const statement = statements[`${form}${lean ? "Lean" : "Full"}`];
    const rows = await withoutDeadlock(() => queries.query<{ id: string }>(statement, values));
    const done = new Set(rows.map((row) => row.id));
    return writes.map((write) => done.has(write.instance.id));
  };

  const gather = (isNew: boolean): Gather<RunWrite, boolean> =>
    createGather({
      ...options.lanes,
      largest: 64,
      // A row is changed once per statement: those who are shown something count as changed too.
      keysOf: ({ instance, showsTo }) => [instance.id, ...showsTo],
      one: async (write) =>
        !isNew && isLean(write) && fitsOneRow(write)
          ? writeOneRun(queries, write)
          : (await send([write], isNew))[0]!,
      many: (writes) => send(writes, isNew),
    });
  const starts = gather(true);
  const updates = gather(false);
  return {
    start: async (write) => ((await starts.add(write)) ? "started" : "keyInUse"),
    write: (write) => updates.add(write),
  };
}

const isLean = (write: RunWrite) =>
  write.addJobs.length === 0 &&
  write.dataChanges.length === 0 &&
  write.leftStates.length === 0 &&
  write.removeJob === undefined &&
  write.endsOthers === undefined &&
  write.checkpoint === undefined &&
  write.incidents.length === 0 &&
  write.resolvesIncidents === undefined &&
  !write.childChanged &&
  write.addCorrelations.length === 0 &&
  write.endedChildren.length === 0 &&
  write.ownOutcome === undefined &&
  write.showsTo.length === 0 &&
  write.instance.status !== "C";
