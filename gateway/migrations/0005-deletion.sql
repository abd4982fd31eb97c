-- What is still to be removed outside of the database. The rows are written in the transaction that deletes what they belonged
-- to, and deleted once the file or the job is gone.

create table file_removals (
  id bigint generated always as identity primary key,
  storage_key text not null,
  account_id uuid not null,
  requested_at timestamptz not null default now(),
  -- Tries of the sweep that failed or did not end.
  attempts integer not null default 0,
  -- The process that deleted the row of the file tries first.
  next_try_at timestamptz not null default now() + interval '1 minute'
) with (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0
);
create index file_removals_due on file_removals (next_try_at);

-- Jobs that a provider keeps although their task is deleted. A job that cannot be deleted is given up after 30 days.
create table job_removals (
  id bigint generated always as identity primary key,
  provider text not null,
  -- The provider's reference of the job.
  upstream jsonb not null,
  task_id text not null,
  account_id uuid not null,
  requested_at timestamptz not null default now(),
  attempts integer not null default 0,
  next_try_at timestamptz not null default now() + interval '1 minute'
) with (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0
);
create index job_removals_due on job_removals (next_try_at);
