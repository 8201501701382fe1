-- What happens to instances: transition records, the work still to do, and what went wrong.

-- One row per transition, in the order of the instance's own sequence numbers. Bodies are text: they
-- are only ever passed on, and text costs a third less than jsonb to write.
--
-- Data versions are not stored a second time: a version is the one before it merged with the body of
-- the record that made it, or with a task's output (`data_change`).
create table transition_record (
  instance_id uuid not null,
  seq integer not null,
  id uuid not null,
  transition_key text not null,
  from_state text not null,
  to_state text,
  effective_state text,
  effective_state_type smallint,
  effective_state_sub_type smallint,
  stage text,
  trigger_type smallint not null,
  started_at timestamptz not null,
  finished_at timestamptz,
  body text,
  -- set when merging the body made a new version of the data
  data_version text,
  entity_etag text,
  header text,
  created_by text,
  created_by_behalf_of text,
  -- the caller's idempotency key, and the outcome a repeat is answered with
  idempotency_key text,
  outcome_status "char",
  outcome_seq integer,
  primary key (instance_id, seq)
);

create unique index transition_record_idempotency
  on transition_record (instance_id, transition_key, idempotency_key)
  where idempotency_key is not null;

-- Further changes of the data, in order: what tasks merged after their record's own body, and the
-- versions of seed records, which replace what was there and have no record (`record_seq` 0).
create table data_change (
  instance_id uuid not null,
  record_seq integer not null,
  index integer not null,
  version text not null,
  entity_etag text not null,
  delta text not null,
  replaces boolean not null default false,
  primary key (instance_id, record_seq, index)
);

-- Nodes that live. A node renews its row every second or two; when it stops, the others take its work.
create table node (
  id uuid primary key,
  started_at timestamptz not null,
  alive_until timestamptz not null
);

-- Work to do: queued transitions, timers, timeouts. `ready_at` is when somebody may take it: the due
-- time at first, the end of the lease while a node has it.
create table job (
  id uuid primary key,
  name text not null,
  kind text not null,
  instance_id uuid not null,
  source_state text,
  transition_key text,
  payload text,
  ready_at timestamptz not null,
  owner uuid,
  attempts integer not null default 0,
  created_at timestamptz not null
);

-- The name says what the work is; the same timer is not set twice. Queued transitions may share
-- theirs: several updates of the data wait side by side, each with its own payload.
create unique index job_name on job (name) where kind <> 'tx';
create index job_ready on job (ready_at);
create index job_instance on job (instance_id);
create index job_owner on job (owner) where owner is not null;

-- The results of tasks with effects outside. After a crash what stands here is not done again.
create table task_journal (
  instance_id uuid not null,
  -- record, hook, position of the task: the same in every attempt
  execution_key text not null,
  task_key text not null,
  succeeded boolean not null,
  request text,
  response text,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  primary key (instance_id, execution_key)
);

create table incident (
  id uuid primary key,
  instance_id uuid not null,
  -- per instance, for the order
  number integer not null,
  state text not null,
  transition text not null,
  task text,
  message text not null,
  error_code text,
  error_layer text,
  status_code integer,
  boundary_action text,
  boundary_level text,
  trace_id text,
  retry_count integer not null default 0,
  created_at timestamptz not null,
  resolved_at timestamptz
);

create unique index incident_instance on incident (instance_id, number desc);
create index incident_open on incident (instance_id) where resolved_at is null;
