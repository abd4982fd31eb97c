-- What operators need to run the service for paying customers.

alter table accounts
  -- The most an account may spend in a calendar month (UTC), over all of its wallets.
  add column spend_cap_micros bigint check (spend_cap_micros >= 0),
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
create index keys_of_operators on keys (created_at desc, id desc) where kind = 'admin';
-- When a key was last used is no news: whoever keeps keys in memory need not look again.
drop trigger keys_changed on keys;
create trigger keys_changed after update on keys
  for each row when (new.last_used_at is not distinct from old.last_used_at) execute function announce_key_change();
create trigger keys_removed after delete on keys
  for each row execute function announce_key_change();

alter table balances
  -- What was held and not given back of the month that began then; a new month starts with its first hold.
  add column spent_micros bigint not null default 0 check (spent_micros >= 0),
  add column spent_since date not null default 'epoch',
  -- When the money of this cycle was put in. What was held before is of an earlier one and does not come back.
  add column opened_at timestamptz;

alter table subscriptions
  -- Its end has come and what was left of its last cycle is gone.
  add column is_over boolean not null default false;
create index subscriptions_due on subscriptions (least(cycle_ends_at, ends_at)) where not is_over;

-- Holds placed before a limit was set are not in its count, and are not given back to it. Quotas there are have
-- counted from the first.
alter table key_quotas add column counted_from timestamptz not null default 'epoch';
alter table key_quotas alter column counted_from set default clock_timestamp();

-- What a key may spend per period; a period that is over starts anew with its next hold.
create table key_budgets (
  key_id uuid not null references keys (id),
  period text not null check (period in ('hour', 'day', 'week', 'month')),
  limit_micros bigint not null check (limit_micros >= 0),
  used_micros bigint not null default 0 check (used_micros >= 0),
  period_started_at timestamptz not null default 'epoch',
  counted_from timestamptz not null default clock_timestamp(),
  primary key (key_id, period)
) with (fillfactor = 50);

-- Money that came or went without a task. Its id stands in the ledger where a task's would.
create table account_movements (
  id text primary key,
  account_id uuid not null references accounts (id),
  wallet text not null check (wallet in ('payg', 'subscription')),
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
alter table ledger_entries
  -- The key whose limits a hold counts against; null for money that came or went without one.
  add column key_id uuid,
  alter column created_at set default clock_timestamp();
-- Legs are only ever added, so the newest lie together.
create index ledger_entries_newest on ledger_entries using brin (created_at) with (pages_per_range = 32, autosummarize = on);
-- Few among many; the others are found by walking from the newest on.
create index ledger_entries_without_task on ledger_entries (movement, day, id)
  where movement in ('top_up', 'grant', 'adjustment', 'expiry');

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
create table idempotency_keys (
  account_id uuid not null,
  -- Hash of the caller's key; one of its own for a request that is recognised by nothing but what it asks.
  name bytea not null,
  operation text not null,
  fingerprint bytea not null,
  -- Whoever answers it. One of whom nothing is heard until it expires has given it up.
  claim uuid not null default gen_random_uuid(),
  -- The latest retry that was answered with it; null where the caller gave a key.
  retry integer,
  -- Null while the first request is still being answered.
  status integer,
  headers jsonb,
  -- Null where the reply tells of a task, which is asked again, or was too large to be kept.
  body bytea,
  body_kind text check (body_kind in ('text', 'bytes', 'events')),
  task_id text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (account_id, name)
);
create index idempotency_keys_of_request on idempotency_keys (account_id, fingerprint) where retry is not null;
create index idempotency_keys_by_age on idempotency_keys (expires_at);

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
create index requests_of_key on requests (key_id, at desc, id desc);
create index requests_of_task on requests (task_id, at desc, id desc) where task_id is not null;
create table requests_default partition of requests default;

-- Operators search everybody's tasks. A failure's code is written once and only for failures, so the second index is no
-- burden to the many changes of a task that do not fail it.
create index video_tasks_newest on video_tasks (created_at desc, id desc);
create index video_tasks_failed on video_tasks (created_at desc, id desc) where error_code is not null;
create index transcription_tasks_newest on transcription_tasks (created_at desc, id desc);

-- What was used: one row for each task or request that ended, written in the transaction that ends it, whoever does.
-- It carries nothing of what was asked for, and stays with the ledger when tasks are deleted or their time is over.
create table usage_entries (
  -- Of the end, as the ledger's captures are.
  day date not null,
  id text not null,
  ended_at timestamptz not null,
  account_id uuid not null,
  key_id uuid not null,
  model text not null,
  outcome text not null check (outcome in ('completed', 'failed', 'aborted')),
  captured_micros bigint not null check (captured_micros >= 0),
  -- Of video made, or of sound understood.
  seconds numeric(14, 3) not null default 0,
  primary key (day, id)
) partition by range (day);
create index usage_entries_of_account on usage_entries (account_id, ended_at);
create index usage_entries_by_time on usage_entries using brin (ended_at);
create table usage_entries_default partition of usage_entries default;

-- How long that is, by what was charged for.
create function seconds_charged(prices jsonb) returns numeric language sql immutable as $$
  select coalesce(sum(case price ->> 'unit' when 'minute' then 60 else 1 end * (price ->> 'quantity')::numeric), 0)
    from jsonb_array_elements(coalesce(prices, '[]')) price
   where price ->> 'unit' in ('minute', 'second')
$$;

create function note_video_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, seconds)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          new.state, coalesce(new.captured_micros, 0),
          case when new.state = 'completed' then (new.video_order ->> 'seconds')::numeric else 0 end);
  return null;
end $$;
create trigger video_tasks_ended after update on video_tasks
  for each row when (old.finished_at is null and new.finished_at is not null) execute function note_video_usage();

create function note_transcription_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, seconds)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          new.state, coalesce(new.captured_micros, 0),
          case when new.state = 'completed' then new.duration_ms / 1000.0 else 0 end);
  return null;
end $$;
create trigger transcription_tasks_ended after update on transcription_tasks
  for each row when (old.finished_at is null and new.finished_at is not null)
  execute function note_transcription_usage();

create function note_request_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, seconds)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          case new.outcome when 'lost' then 'failed' else new.outcome end, new.captured_micros,
          seconds_charged(new.charged_for));
  return null;
end $$;
create trigger metered_requests_ended after update on metered_requests
  for each row when (old.finished_at is null and new.finished_at is not null) execute function note_request_usage();

select ensure_partitions();
insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, seconds)
select (finished_at at time zone 'utc')::date, id, finished_at, account_id, key_id, model, outcome, captured_micros,
       seconds
  from (select id, finished_at, account_id, key_id, model, state as outcome,
               coalesce(captured_micros, 0) as captured_micros,
               case when state = 'completed' then (video_order ->> 'seconds')::numeric else 0 end as seconds
          from video_tasks
        union all
        select id, finished_at, account_id, key_id, model, state, coalesce(captured_micros, 0),
               case when state = 'completed' then duration_ms / 1000.0 else 0 end
          from transcription_tasks
        union all
        select id, finished_at, account_id, key_id, model, case outcome when 'lost' then 'failed' else outcome end,
               captured_micros, seconds_charged(charged_for)
          from metered_requests) ended
 where finished_at is not null;

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
create index audit_log_of_action on audit_log (action, sequence desc);

-- The last audit of the ledger, and when all of it was last looked at. What that found stands until the next.
create table ledger_audits (
  only_one boolean primary key default true check (only_one),
  checked_at timestamptz not null,
  took_ms integer not null,
  findings jsonb not null,
  whole_at timestamptz not null,
  found_in_whole jsonb not null
);
-- What a wallet's legs came to up to one of them, so that an audit need not add all of them up each time.
create table audited_wallets (
  account_id uuid not null,
  wallet text not null,
  entry_id bigint not null,
  available_micros bigint not null,
  held_micros bigint not null,
  primary key (account_id, wallet)
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
create table queue_shares (
  queue text not null,
  owner uuid not null,
  began bigint not null,
  ended bigint not null check (ended >= began),
  primary key (queue, owner)
) with (fillfactor = 50);

alter table open_tasks
  -- The defaults are for rows that a role of the version before writes while the roles are rolled.
  add column key_id uuid not null default '00000000-0000-0000-0000-000000000000',
  add column seconds integer not null default 10 check (seconds > 0);
update open_tasks o set key_id = t.key_id, seconds = (t.video_order ->> 'seconds')::integer
  from video_tasks t where t.day = o.day and t.id = o.task_id;
drop index open_tasks_accepted;
drop index open_tasks_in_flight;
-- Each is read from its first fitting entry on and no further than needed, so that it does not matter how many wait. Only
-- the line itself starts with the provider: with few statistics, another that did would be taken for it.
create index open_tasks_in_queue on open_tasks (provider, account_id, key_id, accepted_at, task_id) where stage = 'accepted';
create index open_tasks_waiting_of_account on open_tasks (account_id) where stage = 'accepted';
create index open_tasks_put_off on open_tasks (not_before) where stage = 'accepted' and refusals > 0;
create index open_tasks_overdue on open_tasks (deadline_at) where stage = 'accepted';
create index open_tasks_in_flight on open_tasks (provider, account_id, key_id) where stage <> 'accepted';
