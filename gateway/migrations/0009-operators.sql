-- What operators need to run the service for paying customers.

alter table accounts
  -- The most an account may spend in a calendar month (UTC), and what it has spent in the month that began then.
  add column spend_cap_micros bigint check (spend_cap_micros >= 0),
  add column spent_micros bigint not null default 0 check (spent_micros >= 0),
  add column spent_since date not null default date_trunc('month', now() at time zone 'utc')::date,
  -- Null leaves the instance's settings in force.
  add column concurrency integer check (concurrency > 0),
  add column media_retention_days integer check (media_retention_days between 1 and 36500),
  add column task_retention_days integer check (task_retention_days between 1 and 36500);
create index accounts_newest on accounts (created_at desc, id desc);

alter table keys
  add column concurrency integer check (concurrency > 0),
  -- Coarse: written now and then, never in the way of a request.
  add column last_used_at timestamptz;
create index keys_newest on keys (created_at desc, id desc);

-- What a key may spend per period; a period that is over starts anew with its next hold.
create table key_budgets (
  key_id uuid not null references keys (id),
  period text not null check (period in ('hour', 'day', 'week', 'month')),
  limit_micros bigint not null check (limit_micros >= 0),
  used_micros bigint not null default 0 check (used_micros >= 0),
  period_started_at timestamptz not null default now(),
  primary key (key_id, period)
) with (fillfactor = 50);

-- Money that came or went without a task. Its id stands in the ledger where a task's would.
create table account_movements (
  id text primary key,
  account_id uuid not null references accounts (id),
  purse text not null check (purse in ('payg', 'subscription')),
  kind text not null check (kind in ('top_up', 'grant', 'adjustment', 'expiry')),
  -- Negative where money was taken away.
  amount_micros bigint not null,
  actor text not null,
  reason text not null,
  reference text,
  created_at timestamptz not null default now(),
  unique (account_id, kind, reference)
);
create index account_movements_of_account on account_movements (account_id, created_at desc, id desc);
alter table ledger_entries drop constraint ledger_entries_movement_check;
alter table ledger_entries add constraint ledger_entries_movement_check
  check (movement in ('top_up', 'grant', 'adjustment', 'expiry', 'hold', 'capture', 'release'));

-- Prices set while running; the newest that has started counts, and the catalog's where there is none.
create table prices (
  id uuid primary key,
  model text not null,
  unit text not null,
  -- Null for every size.
  resolution text,
  unit_micros bigint not null check (unit_micros >= 0),
  version integer not null,
  starts_at timestamptz not null,
  actor text not null,
  created_at timestamptz not null default now(),
  unique nulls not distinct (model, unit, resolution, version)
);

-- What the instance's operator changed while it runs, one row for all of it.
create table instance_settings (
  only_one boolean primary key default true check (only_one),
  settings jsonb not null
);
create function announce_settings_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('instance_changes', tg_table_name);
  return null;
end $$;
create trigger instance_settings_changed after insert or update on instance_settings
  for each statement execute function announce_settings_change();
create trigger prices_changed after insert on prices
  for each statement execute function announce_settings_change();

-- Replies to creates, kept so that a repeat of the request is answered with them.
create table kept_replies (
  account_id uuid not null,
  -- Hash of the caller's key, or of what makes a retried request recognisable.
  name bytea not null,
  operation text not null,
  fingerprint bytea not null,
  -- Null while the first request is still being answered.
  status integer,
  headers jsonb,
  body text,
  task_id text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (account_id, name)
);
create index kept_replies_by_age on kept_replies (expires_at);

-- Who asked what, for operators; written in batches after the answer.
create table requests (
  day date not null,
  id text not null,
  at timestamptz not null,
  account_id uuid,
  key_id uuid,
  operation text not null,
  method text not null,
  path text not null,
  status smallint not null,
  error_code text,
  model text,
  task_id text,
  took_ms integer not null,
  address text not null,
  client text
) partition by range (day);
create index requests_newest on requests (at desc, id desc);
create index requests_of_account on requests (account_id, at desc, id desc);
create table requests_default partition of requests default;

-- What operators did. Each entry's hash covers the one before it, so none can be changed or taken out unseen.
create table audit_log (
  sequence bigint primary key,
  at timestamptz not null,
  actor text not null,
  action text not null,
  target text,
  before jsonb,
  after jsonb,
  request_id text not null,
  hash bytea not null
);
create index audit_log_of_target on audit_log (target, sequence desc);

-- The last audit of the ledger.
create table ledger_audits (
  only_one boolean primary key default true check (only_one),
  checked_at timestamptz not null,
  took_ms integer not null,
  findings jsonb not null
);

-- When a file's time was over and it was removed. The row stays for as long as there may be a task to ask for it.
alter table media add column removed_at timestamptz;
create index media_to_remove on media (expires_at) where removed_at is null and expires_at is not null;
create index media_removed on media (created_at) where removed_at is not null;
create index media_given on media (created_at) where kind = 'reference';
create index media_by_key on media (storage_key);

-- Whose turn it is to have a task started. A line is a provider's, where accounts take turns, or that of one account
-- there, where its keys do. Each line has a clock that counts seconds of video. A start lasts as many of them as the
-- video has; it begins where the owner's last one ended, but not before the line's newest one began, so that whoever
-- was away has saved up nothing. The one whose next start begins first is next.
create table line_shares (
  line text not null,
  owner uuid not null,
  began bigint not null,
  ended bigint not null check (ended >= began),
  primary key (line, owner)
) with (fillfactor = 50);

alter table open_tasks
  -- The defaults are for rows that a role of the version before writes while the roles are rolled.
  add column key_id uuid not null default '00000000-0000-0000-0000-000000000000',
  add column seconds integer not null default 10 check (seconds > 0);
update open_tasks o set key_id = t.key_id, seconds = (t.video_order ->> 'seconds')::integer
  from video_tasks t where t.day = o.day and t.id = o.task_id;
drop index open_tasks_accepted;
drop index open_tasks_in_flight;
-- Each is read from its first fitting entry on and no further than needed, so none cares how long a line is.
create index open_tasks_in_line on open_tasks (provider, account_id, key_id, accepted_at, task_id) where stage = 'accepted';
create index open_tasks_put_off on open_tasks (provider, not_before) where stage = 'accepted';
create index open_tasks_overdue on open_tasks (provider, deadline_at) where stage = 'accepted';
create index open_tasks_in_flight on open_tasks (provider, account_id, key_id) where stage <> 'accepted';
