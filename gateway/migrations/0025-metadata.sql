-- Metadata of requests, and the budget and alerts that a customer sets.

-- Tasks have their metadata in their order.
alter table metered_requests add column metadata jsonb;

-- The metadata of tasks and metered requests that have ended, for usage by metadata. Apart from `usage_entries`, which outlive
-- the task, because this is content of customers and is deleted with the task.
create table usage_metadata (
  -- Day and id of the usage entry.
  day date not null,
  id text not null,
  account_id uuid not null,
  metadata jsonb not null,
  primary key (day, id)
) partition by range (day);
create index usage_metadata_by_account on usage_metadata (account_id, day);
create table usage_metadata_default partition of usage_metadata default;
select ensure_partitions();

create or replace function record_video_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, model_name, outcome, captured_micros, provider,
                             cost_micros, seconds, prices)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          new.model_name, new.state, coalesce(new.captured_micros, 0), new.provider, new.cost_micros,
          case when new.state = 'completed' then (new.video_order ->> 'seconds')::numeric else 0 end, new.prices);
  if new.video_order ? 'metadata' then
    insert into usage_metadata (day, id, account_id, metadata)
    values ((new.finished_at at time zone 'utc')::date, new.id, new.account_id, new.video_order -> 'metadata');
  end if;
  return null;
end $$;

create or replace function record_transcription_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, model_name, outcome, captured_micros, provider,
                             cost_micros, seconds, prices)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          new.model_name, new.state, coalesce(new.captured_micros, 0), new.provider, new.cost_micros,
          case when new.state = 'completed' then new.duration_ms / 1000.0 else 0 end, new.prices);
  if new.transcription_order ? 'metadata' then
    insert into usage_metadata (day, id, account_id, metadata)
    values ((new.finished_at at time zone 'utc')::date, new.id, new.account_id, new.transcription_order -> 'metadata');
  end if;
  return null;
end $$;

create or replace function record_request_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, model_name, outcome, captured_micros, provider,
                             cost_micros, seconds, prices)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          new.model_name, case new.outcome when 'abandoned' then 'failed' else new.outcome end, new.captured_micros,
          new.provider, new.cost_micros, seconds_charged(new.charged_for), coalesce(new.charged_for, new.held_for));
  if new.metadata is not null then
    insert into usage_metadata (day, id, account_id, metadata)
    values ((new.finished_at at time zone 'utc')::date, new.id, new.account_id, new.metadata);
  end if;
  return null;
end $$;

-- What a customer has set for their account; only for those who have. Apart from `accounts`, whose changes reach the caches of
-- every process, because the alerts change with the balance.
create table account_budgets (
  account_id uuid primary key references accounts (id),
  -- The smaller one of this and the operator's applies.
  spend_cap_micros bigint check (spend_cap_micros >= 0),
  -- The alert for the pay-as-you-go balance, with what is held, and whether the balance is below it.
  balance_alert_micros bigint check (balance_alert_micros > 0),
  is_balance_low boolean not null default false,
  -- The alerts for the spending of a calendar month (UTC), and the highest one that it has reached in the last month with any.
  spend_alerts_micros bigint[] not null default '{}',
  spend_alerted_on date not null default 'epoch',
  spend_alerted_micros bigint not null default 0
) with (fillfactor = 50);
