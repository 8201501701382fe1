-- Flows within flows, and going on after a failure.

alter table instance
  -- who started it: correlation, kind, parent, those who wait for it; JSON, null for a root
  add column origin text,
  -- the subflow it waits for
  add column open_child uuid,
  add column open_child_domain text,
  add column open_child_flow text;

-- Definitions are read as instances; they have no relatives.
create or replace view component_instance as
select c.id, c.domain, c.flow, c.key, v.flow_version,
  'A'::"char" as status, v.revision as rev, 0 as last_seq,
  'active' as current_state, 2::smallint as current_state_type, 0::smallint as current_state_sub_type,
  'active' as effective_state, 2::smallint as effective_state_type, 0::smallint as effective_state_sub_type,
  null::text as stage, c.tags, v.attributes, component_data(v.attributes) as data,
  v.version as data_version, v.entity_etag,
  c.created_at, c.created_by, c.created_by_behalf_of,
  c.modified_at, c.modified_by, c.modified_by_behalf_of, null::timestamptz as completed_at,
  0 as incident_count, false as has_active_incident, false as is_transient,
  null::text as origin, null::uuid as open_child, null::text as open_child_domain,
  null::text as open_child_flow
from component c join component_version v on v.component_id = c.id and v.version = c.latest_version;

-- One row per child of an instance. A subflow (S) is waited for, a subprocess (P) is not.
create table correlation (
  id uuid primary key,
  parent_id uuid not null,
  parent_state text not null,
  child_id uuid not null,
  kind "char" not null check (kind in ('S', 'P')),
  child_domain text not null,
  child_flow text not null,
  child_version text not null,
  created_at timestamptz not null,
  -- how the child has ended; set by the child's own last write
  outcome text check (outcome in ('completed', 'faulted', 'canceled')),
  -- when the parent took note of it
  completed_at timestamptz
);

create unique index correlation_child on correlation (child_id);
create index correlation_parent on correlation (parent_id, created_at);

alter table incident
  -- where the run stood and what it was asked: a retry goes on from there
  add column resume text;

alter table task_journal
  -- how often the task was tried, and in which retry of the instance
  add column attempts integer not null default 1,
  add column retry integer not null default 0;
