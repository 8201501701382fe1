/**
 * What an audit looks at. A page of instances is one statement, so everything about an instance is
 * seen at one moment, also while the service works; pages follow each other by id, so a large
 * database is neither held in memory nor in one long transaction.
 */
import type { InstanceStatus } from "../../engine/instance.ts";
import type { Queries } from "./database.ts";

export interface AuditedInstance {
  id: string;
  domain: string;
  flow: string;
  flow_version: string;
  status: InstanceStatus;
  current_state: string;
  last_seq: number;
  has_active_incident: boolean;
  incident_count: number;
  incidents: number;
  open_incidents: number;
  effective_state: string;
  /** The subflow it waits for. */
  open_child: string | null;
  /** That subflow's state as others see it; null when it is not there. */
  child_effective_state: string | null;
  /** How that subflow has ended, by its correlation. */
  child_outcome: string | null;
  /** Somebody is going to start that subflow. */
  child_is_starting: boolean;
  /** Subflows whose correlation says that they are waited for. */
  awaited: string[];
  /** Queued or running transitions, and resumptions. */
  runs: number;
  /** Pauses that end when the caller's poll has been answered. */
  pauses: number;
  /** Jobs that wait for their time; `sx` is a scheduled transition, `to` the workflow's timeout. */
  timers: { kind: string; state: string | null; transition: string | null }[];
  records: number;
  highest_seq: number;
  open_records: number;
  /** Some record does not begin where the one before it ended, or the last did not end here. */
  is_chain_doubtful: boolean;
}

export interface AuditedRecord {
  seq: number;
  transition_key: string;
  from_state: string;
  to_state: string | null;
}

export interface AuditQueries {
  /** In the order of their ids, after `after`. */
  instances(after: string | undefined, most: number): Promise<AuditedInstance[]>;
  records(instanceId: string): Promise<AuditedRecord[]>;
  /** Jobs whose instance is not there, a few of them. */
  strayJobs(most: number): Promise<{ id: string; name: string; instance_id: string }[]>;
}

const instancesAfter = {
  name: "audit-instances",
  text: `
    select i.id, i.domain, i.flow, i.flow_version, i.status::text as status, i.current_state,
      i.effective_state, i.last_seq, i.has_active_incident, i.incident_count,
      n.incidents, n.open_incidents, i.open_child, c.child_effective_state, c.child_outcome,
      c.child_is_starting, a.awaited, j.runs, j.pauses, j.timers, r.records, r.highest_seq, r.open_records,
      coalesce(r.is_broken or r.last_state <> i.current_state, false) as is_chain_doubtful
    from (select * from instance where $1::uuid is null or id > $1 order by id limit $2) i
    cross join lateral (
      select count(*)::int as incidents,
        (count(*) filter (where resolved_at is null))::int as open_incidents
      from incident where instance_id = i.id) n
    cross join lateral (
      select (count(*) filter (where kind in ('tx', 'rs')))::int as runs,
        (count(*) filter (where kind = 'la'))::int as pauses,
        coalesce(json_agg(json_build_object('kind', kind, 'state', source_state,
          'transition', transition_key)) filter (where kind in ('sx', 'to')), '[]') as timers
      from job where instance_id = i.id) j
    cross join lateral (
      select (select effective_state from instance where id = i.open_child) as child_effective_state,
        (select outcome from correlation where child_id = i.open_child) as child_outcome,
        exists (select from job where instance_id = i.open_child and kind = 'sf') as child_is_starting) c
    cross join lateral (
      select coalesce(json_agg(child_id), '[]') as awaited from correlation
      where parent_id = i.id and kind = 'S' and completed_at is null) a
    cross join lateral (
      select count(*)::int as records, coalesce(max(seq), 0) as highest_seq,
        (count(*) filter (where finished_at is null))::int as open_records,
        bool_or(from_state <> state_before) as is_broken,
        (array_agg(to_state order by seq desc))[1] as last_state
      from (
        select seq, finished_at, from_state, to_state, lag(to_state) over (order by seq) as state_before
        from transition_record where instance_id = i.id) t) r
    order by i.id`,
};

const recordsOf = {
  name: "audit-records",
  text: `
    select seq, transition_key, from_state, to_state
    from transition_record where instance_id = $1 order by seq`,
};

const jobsOfNobody = {
  name: "audit-stray-jobs",
  text: `
    select id, name, instance_id from job j
    -- a child that is to be started is not there yet, and one that is to be cancelled may never be
    where kind not in ('sf', 'cc') and not exists (select from instance i where i.id = j.instance_id)
    order by id limit $1`,
};

export const createAuditQueries = (queries: Queries): AuditQueries => ({
  instances: (after, most) => queries.query(instancesAfter, [after ?? null, most]),
  records: (instanceId) => queries.query(recordsOf, [instanceId]),
  strayJobs: (most) => queries.query(jobsOfNobody, [most]),
});
