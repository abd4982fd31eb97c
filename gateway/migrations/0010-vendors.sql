-- Several vendors behind one model: who is chosen and why, how they do, and what operators set up about them.

alter table open_tasks
  add column model text not null default '',
  -- Why this provider: {"provider", "because", "skipped": [{"provider", "because"}]}.
  add column decision jsonb,
  -- Providers that turned it away since all were last thought of.
  add column tried text[] not null default '{}',
  -- When its provider's final word came.
  add column outcome_at timestamptz,
  -- The first of the submits whose outcome is unknown; as long as there is one, it stays with its provider.
  add column outcome_unknown_since timestamptz;
update open_tasks o set model = t.model from video_tasks t where t.day = o.day and t.id = o.task_id;
-- Whatever the reason why a task was put back in line, its time is looked for here.
drop index open_tasks_put_off;
create index open_tasks_put_off on open_tasks (not_before) where stage = 'accepted' and run > 0;

-- Who was asked while the caller waited.
alter table requests add column provider text;

-- One row for each time a provider was asked to take a task, written when it had answered or had not.
create table task_attempts (
  day date not null,
  task_id text not null,
  attempt integer not null,
  provider text not null,
  upstream_model text not null,
  decision jsonb,
  started_at timestamptz not null,
  ended_at timestamptz not null default clock_timestamp(),
  outcome text not null check (outcome in ('accepted', 'not_delivered', 'busy', 'rejected', 'moderated', 'unknown')),
  -- The provider took a job for this task although another had been taken; nobody is charged for it.
  is_duplicate boolean not null default false,
  -- What was said, with everything secret taken out.
  exchanges jsonb not null default '[]',
  primary key (day, task_id, attempt)
) partition by range (day);
create table task_attempts_default partition of task_attempts default;

-- How a provider does with a model, told among processes. No row means that nothing is known against it.
create table route_health (
  provider text not null,
  model text not null,
  -- Until then nobody calls; afterwards one call at a time finds out.
  open_until timestamptz not null,
  -- How often it was found unhealthy in a row; each time it is left alone for longer.
  openings integer not null default 1,
  because text not null,
  -- The one that tries has until then to say what came of it.
  probed_until timestamptz not null default 'epoch',
  -- Set when it was found well again; it is then brought back to its full load step by step.
  recovered_at timestamptz,
  primary key (provider, model)
) with (fillfactor = 50);

-- How long jobs took, in steps of a quarter more each, older ones counting less and less.
create table job_durations (
  provider text not null,
  model text not null,
  -- Jobs that took about 1.25 ^ step seconds.
  step smallint not null,
  weight double precision not null,
  primary key (provider, model, step)
) with (fillfactor = 50);

-- Which task each job was taken for. A job that a provider names to two tasks is the first one's, and nobody else sees
-- what comes of it.
create table claimed_jobs (
  provider text not null,
  -- A hash of the provider's reference.
  job uuid not null,
  task_id text not null,
  claimed_at timestamptz not null default now(),
  primary key (provider, job)
);
create index claimed_jobs_by_time on claimed_jobs (claimed_at);

-- News that providers brought; brought again it is known.
create table webhook_receipts (
  provider text not null,
  id text not null,
  received_at timestamptz not null default now(),
  primary key (provider, id)
);
create index webhook_receipts_by_time on webhook_receipts (received_at);

-- Providers that operators set up while the service runs, over those of the file. A removed one stays for as long as it
-- has tasks to finish.
create table provider_configs (
  name text primary key,
  settings jsonb not null,
  -- AES-256-GCM under the newest of CREDENTIAL_SECRETS; null where there is none.
  credential bytea,
  -- Its last characters, so that people can tell it from another.
  credential_hint text,
  removed_at timestamptz,
  changed_at timestamptz not null default now()
);

-- What operators changed about a model's routes, over what the file says.
create table model_configs (
  model text primary key,
  settings jsonb not null,
  changed_at timestamptz not null default now()
);

create trigger provider_configs_changed after insert or update or delete on provider_configs
  for each row execute function announce_settings_change();
create trigger model_configs_changed after insert or update or delete on model_configs
  for each row execute function announce_settings_change();

select ensure_partitions();
