-- Instance settings, idempotency keys, audit log, request log, and usage.

-- A single row. It holds only what operators have changed; everything else comes from the environment.
create table instance_settings (
  singleton boolean primary key default true check (singleton),
  settings jsonb not null,
  -- The currency of every amount; null until the first process has started.
  currency text check (currency ~ '^[A-Z]{3}$')
);
create trigger instance_settings_changed after insert or update on instance_settings
  for each statement execute function notify_instance_change();

-- Stored responses of create requests, replayed when a request is repeated.
create table idempotency_keys (
  account_id uuid not null,
  -- A hash of the caller's key. Random for requests that are recognized by their fingerprint.
  name bytea not null,
  operation text not null,
  fingerprint bytea not null,
  -- Identifies the request that is being processed. A claim that is not extended before it expires can be taken over.
  claim uuid not null default gen_random_uuid(),
  -- The highest retry number that was answered from this row; null if the caller sent a key.
  retry integer,
  -- Null while the first request is still being processed.
  status integer,
  headers jsonb,
  -- Null if the response describes a task, which is read again on replay, or was too large to store.
  body bytea,
  body_kind text check (body_kind in ('text', 'bytes', 'events')),
  task_id text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (account_id, name)
);
create index idempotency_keys_by_fingerprint on idempotency_keys (account_id, fingerprint) where retry is not null;
create index idempotency_keys_by_expires_at on idempotency_keys (expires_at);

-- What operators changed, and whose prompts they read. The keyed hash of each entry covers the entry before it, so that a
-- changed, added or missing entry is detected.
create table audit_log (
  sequence bigint primary key,
  at timestamptz not null,
  actor text not null,
  action text not null,
  target text,
  before jsonb,
  after jsonb,
  -- Null for a command.
  request_id text,
  hash bytea not null
);
create index audit_log_by_target on audit_log (target, sequence desc);
create index audit_log_by_action on audit_log (action, sequence desc);
-- Against mistakes: entries are kept forever. The owner of the table can remove the trigger; the hashes show what they did.
create function refuse_audit_log_change() returns trigger language plpgsql as $$
begin
  raise exception 'The audit log is append-only: % is not allowed.', lower(tg_op);
end $$;
create trigger audit_log_is_append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_audit_log_change();

-- Answered requests, for operators. Written in batches after the response.
create table request_log (
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
  -- The provider that was called before the response; null for requests that only create or read tasks.
  provider text,
  task_id text,
  duration_ms integer not null,
  address text not null,
  user_agent text
) partition by range (day);
create index request_log_by_time on request_log (at desc, id desc);
create index request_log_by_account on request_log (account_id, at desc, id desc);
create index request_log_by_key on request_log (key_id, at desc, id desc);
create index request_log_by_task on request_log (task_id, at desc, id desc) where task_id is not null;
create table request_log_default partition of request_log default;

-- One row for each task or metered request that ended, written by triggers in the transaction that ends it. It contains
-- no customer content, and outlives the task like the ledger does.
create table usage_entries (
  -- The day of the end, like the day of a capture.
  day date not null,
  id text not null,
  ended_at timestamptz not null,
  account_id uuid not null,
  key_id uuid not null,
  model text not null,
  outcome text not null check (outcome in ('completed', 'failed', 'aborted')),
  captured_micros bigint not null check (captured_micros >= 0),
  -- The provider that did the work, and what it cost there; null if none did, or if its costs are not configured.
  provider text,
  cost_micros bigint check (cost_micros >= 0),
  -- Seconds of video made, or of audio transcribed.
  seconds numeric(14, 3) not null default 0,
  -- The priced quantities, so that the receipt can be read after the task was deleted.
  prices jsonb not null,
  primary key (day, id)
) partition by range (day);
create index usage_entries_by_account on usage_entries (account_id, ended_at);
create index usage_entries_by_ended_at on usage_entries using brin (ended_at);
-- Receipts are read by id, without knowing the day.
create index usage_entries_by_id on usage_entries (id);
create table usage_entries_default partition of usage_entries default;

-- The duration that a list of priced quantities amounts to.
create function seconds_charged(prices jsonb) returns numeric language sql immutable as $$
  select coalesce(sum(case price ->> 'unit' when 'minute' then 60 else 1 end * (price ->> 'quantity')::numeric), 0)
    from jsonb_array_elements(coalesce(prices, '[]')) price
   where price ->> 'unit' in ('minute', 'second')
$$;

create function record_video_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, provider, cost_micros,
                             seconds, prices)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          new.state, coalesce(new.captured_micros, 0), new.provider, new.cost_micros,
          case when new.state = 'completed' then (new.video_order ->> 'seconds')::numeric else 0 end, new.prices);
  return null;
end $$;
create trigger video_tasks_ended after update on video_tasks
  for each row when (old.finished_at is null and new.finished_at is not null) execute function record_video_usage();

create function record_transcription_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, provider, cost_micros,
                             seconds, prices)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          new.state, coalesce(new.captured_micros, 0), new.provider, new.cost_micros,
          case when new.state = 'completed' then new.duration_ms / 1000.0 else 0 end, new.prices);
  return null;
end $$;
create trigger transcription_tasks_ended after update on transcription_tasks
  for each row when (old.finished_at is null and new.finished_at is not null)
  execute function record_transcription_usage();

create function record_request_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, provider, cost_micros,
                             seconds, prices)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          case new.outcome when 'abandoned' then 'failed' else new.outcome end, new.captured_micros,
          new.provider, new.cost_micros, seconds_charged(new.charged_for), coalesce(new.charged_for, new.held_for));
  return null;
end $$;
create trigger metered_requests_ended after update on metered_requests
  for each row when (old.finished_at is null and new.finished_at is not null) execute function record_request_usage();
