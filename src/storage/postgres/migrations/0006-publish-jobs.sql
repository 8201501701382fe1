-- Packages that are being deployed, or were a moment ago. No credentials: those are in the memory of
-- the process that accepted the job, and nowhere else.
create table publish_job (
  id uuid primary key,
  -- the order they came in, in which they run
  number bigint generated always as identity,
  package_name text not null,
  status text not null,
  phase text not null,
  current integer not null,
  total integer not null,
  current_file text not null,
  results text,
  error text,
  cancel_requested boolean not null default false,
  cancelled_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- the process that has the credentials, and until when it is known to live
  owner uuid not null,
  owned_until timestamptz not null
);

create index publish_job_open on publish_job (number)
  where status in ('accepted', 'processing');
