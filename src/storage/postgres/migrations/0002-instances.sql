-- Instances: one row each, holding the state and the latest data whole.
--
-- `rev` is raised by every write and every write names the rev it was decided on, so of two writers
-- exactly one gets through. `data` is jsonb because lists filter on it; it keeps numbers as sent.

create table instance (
  id uuid primary key,
  domain text not null,
  flow text not null,
  key text,
  flow_version text not null,
  status "char" not null check (status in ('A', 'B', 'C', 'F', 'P')),
  rev bigint not null,
  -- sequence number of the newest transition record
  last_seq integer not null default 0,
  current_state text not null,
  current_state_type smallint not null,
  current_state_sub_type smallint not null,
  effective_state text not null,
  effective_state_type smallint not null,
  effective_state_sub_type smallint not null,
  stage text,
  tags text[] not null default '{}',
  data jsonb,
  data_version text,
  entity_etag text not null,
  created_at timestamptz not null,
  created_by text,
  created_by_behalf_of text,
  modified_at timestamptz,
  modified_by text,
  modified_by_behalf_of text,
  completed_at timestamptz,
  incident_count integer not null default 0,
  has_active_incident boolean not null default false,
  is_transient boolean not null default false
) with (fillfactor = 75);

-- A business key belongs to one instance of its flow until that instance is Completed.
create unique index instance_open_key on instance (domain, flow, key)
  where key is not null and status not in ('C', 'P');
create index instance_key on instance (domain, flow, key, created_at desc) where key is not null;

create index instance_list on instance (domain, flow, created_at desc, id desc);
create index instance_status on instance (domain, flow, status, created_at desc, id desc);
create index instance_effective_state
  on instance (domain, flow, effective_state, created_at desc, id desc);
create index instance_current_state
  on instance (domain, flow, current_state, created_at desc, id desc);
create index instance_data on instance using gin (data jsonb_path_ops);
