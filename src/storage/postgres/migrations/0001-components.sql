-- The component store.
--
-- A component is a record of a system flow (sys-tasks, sys-views, …): one row here, one row per
-- published version below. Definitions are kept as the text that was sent, so that what is read
-- back is what was authored.

create table component (
  id uuid primary key,
  domain text not null,
  flow text not null,
  key text not null,
  tags text[] not null default '{}',
  -- The highest version in SemVer order, which SQL cannot tell; kept by the publishing statement.
  latest_version text not null,
  created_at timestamptz not null,
  created_by text,
  created_by_behalf_of text,
  modified_at timestamptz not null,
  modified_by text,
  modified_by_behalf_of text,
  unique (domain, flow, key)
);

create table component_version (
  component_id uuid not null references component (id) on delete cascade,
  version text not null,
  flow_version text not null,
  attributes text not null,
  entity_etag text not null,
  -- The revision of the catalogue that brought this version; nodes catch up by it.
  revision bigint not null,
  created_at timestamptz not null,
  primary key (component_id, version)
);

create index component_version_revision on component_version (revision);

-- One row. Every publish raises the revision in its own transaction, and the row's lock makes the
-- commits follow each other in revision order: a node that has seen revision n has missed nothing
-- below it.
create table catalogue (
  one boolean primary key default true check (one),
  revision bigint not null
);

insert into catalogue (revision) values (0);

-- What jsonb cannot hold (U+0000, half of a surrogate pair, a number of 200,000 digits) is still JSON
-- and may be published; such a definition is listed, but no filter on its content finds it.
create function component_data(attributes text) returns jsonb
language plpgsql immutable parallel safe as $$
begin
  return attributes::jsonb;
exception when data_exception or program_limit_exceeded then
  return null;
end $$;

-- Definitions as instances of their system flow, in the columns of the table `instance`: the list
-- reads both with one statement. A record shows its latest version and rests in its only state.
-- `attributes` is the text as authored; `data` is the same for filters and order.
create view component_instance as
select c.id, c.domain, c.flow, c.key, v.flow_version,
  'A'::"char" as status, v.revision as rev, 0 as last_seq,
  'active' as current_state, 2::smallint as current_state_type, 0::smallint as current_state_sub_type,
  'active' as effective_state, 2::smallint as effective_state_type, 0::smallint as effective_state_sub_type,
  null::text as stage, c.tags, v.attributes, component_data(v.attributes) as data,
  v.version as data_version, v.entity_etag,
  c.created_at, c.created_by, c.created_by_behalf_of,
  c.modified_at, c.modified_by, c.modified_by_behalf_of, null::timestamptz as completed_at,
  0 as incident_count, false as has_active_incident, false as is_transient
from component c join component_version v on v.component_id = c.id and v.version = c.latest_version;
