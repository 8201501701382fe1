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
