-- Files we keep: results, and the pictures a task was given.

create table media (
  id uuid primary key,
  account_id uuid not null,
  task_id text not null,
  kind text not null check (kind in ('video', 'reference')),
  storage_key text not null,
  content_type text not null,
  size_bytes bigint not null,
  sha256 bytea not null,
  width integer,
  height integer,
  duration_ms integer,
  created_at timestamptz not null default now(),
  -- Null for references, which go when their task ends.
  expires_at timestamptz
);
create index media_of_task on media (task_id);
