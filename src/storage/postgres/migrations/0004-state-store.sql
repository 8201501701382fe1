-- Entries of the state stores that live in this database: tasks of the types 17 and 18.

-- Never the same twice, so that an etag from before a delete fits nothing that comes after it.
create sequence state_entry_etag;

create table state_entry (
  store text not null,
  key text not null,
  value jsonb not null,
  etag bigint not null default nextval('state_entry_etag'),
  -- names the write, so that its repetition after a crash is no conflict
  writer text,
  written_at timestamptz not null,
  expires_at timestamptz,
  primary key (store, key)
);

create index state_entry_expiry on state_entry (expires_at) where expires_at is not null;
