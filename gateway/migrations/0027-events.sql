-- The event feed: the events of accounts, and the position of every event in the feed.

-- A transaction commits later than it takes its id, and transactions commit in any order. A reader that only reads below the
-- oldest open transaction, in the order of their ids, misses none. Ids are comparable within the history of one database
-- cluster. Another generation begins when the database was restored into another cluster or promoted, and its positions are
-- higher than all earlier ones.
create function event_position(transaction_id xid8) returns bigint language sql stable as $$
  select (1::bigint << 48) + transaction_id::text::bigint
$$;

create table event_generation (
  singleton boolean primary key default true check (singleton),
  generation integer not null,
  -- The history that its transaction ids belong to: the identifier of the cluster and its timeline.
  history text not null
);

-- Constant where these functions are not allowed. Then nothing notices a restore, and readers may have to start over after one.
create function database_history() returns text language plpgsql as $$
begin
  return (select system_identifier from pg_control_system()) || '/' || substring(pg_walfile_name(pg_current_wal_lsn()) for 8);
exception when others then
  return 'unknown';
end $$;
insert into event_generation (generation, history) select 1, database_history();

-- Begins a new generation if the database has another history than before. It waits for open transactions that have written
-- events, because their positions are of the old generation and nobody would expect these any more.
create function renew_event_generation() returns boolean language plpgsql set lock_timeout = '2s' as $$
declare
  current_history text := database_history();
  next_generation integer;
begin
  if (select history = current_history from event_generation) then
    return false;
  end if;
  lock table only task_events, only account_events in share row exclusive mode;
  update event_generation set generation = generation + 1, history = current_history
   where history <> current_history returning generation into next_generation;
  if next_generation is null then
    return false;
  end if;
  execute format(
    'create or replace function event_position(transaction_id xid8) returns bigint language sql stable as %L',
    format('select (%s::bigint << 48) + transaction_id::text::bigint', next_generation));
  return true;
end $$;

-- The order of the events of a transaction.
create sequence event_numbers cache 100;

-- Both are null for events of before, which the feed does not have.
alter table task_events add column position bigint;
alter table task_events add column number bigint;
alter table task_events alter column position set default event_position(pg_current_xact_id());
alter table task_events alter column number set default nextval('event_numbers');
-- `kinora migrate` creates them on the existing partitions.
create index task_events_of_account on only task_events (account_id, position, number) where position is not null;
create index task_events_by_position on only task_events (position, number) where position is not null;

-- Events that are not about a task. The data of an event is what a reader of the feed gets.
create table account_events (
  day date not null default (now() at time zone 'utc')::date,
  id text not null default 'evt_' || replace(gen_random_uuid()::text, '-', ''),
  account_id uuid not null,
  type text not null,
  object_id text not null,
  data jsonb not null,
  created_at timestamptz not null default now(),
  position bigint not null default event_position(pg_current_xact_id()),
  number bigint not null default nextval('event_numbers'),
  primary key (day, id)
) partition by range (day);
create index account_events_of_account on account_events (account_id, position, number);
create index account_events_by_position on account_events (position, number);
create table account_events_default partition of account_events default;
select ensure_partitions();

-- Creates the deliveries of new events, in the transaction that records them.
create function deliver_account_events() returns trigger language plpgsql as $$
declare
  told integer;
begin
  with delivery as (
    insert into webhook_deliveries (day, id, account_id, endpoint_id, event_id, type, object_id, data, occurred_at, next_attempt_at)
    -- A character is read when it is sent, like a task.
    select (now() at time zone 'utc')::date, uuid_v7(), n.account_id, e.id, n.id, n.type, n.object_id,
           case when n.type <> 'character.created' then n.data end, n.created_at, now()
      from new_events n
      join webhook_endpoints e on e.account_id = n.account_id and e.kind = 'account' and e.disabled_at is null
       and n.type = any (e.events)
    returning endpoint_id
  )
  -- A hint for the workers, sent with the commit.
  select count(pg_notify('webhook_deliveries', endpoint_id::text)) into told
    from (select distinct endpoint_id from delivery) as receivers;
  return null;
end $$;
create trigger account_events_delivered after insert on account_events
  referencing new table as new_events for each statement execute function deliver_account_events();

-- The expiry that the account was told about.
alter table keys add column told_expiry timestamptz;

-- Up to when the use of a deprecated model was looked at, and the accounts that were told of it.
create table deprecation_checks (
  model text primary key,
  checked_until timestamptz not null
);
create table told_deprecations (
  account_id uuid not null references accounts (id),
  model text not null,
  primary key (account_id, model)
);
