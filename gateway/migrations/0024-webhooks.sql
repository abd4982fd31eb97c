-- Webhooks: what customers want to be told, and what is delivered to them.

create table webhook_endpoints (
  id uuid primary key,
  account_id uuid not null references accounts (id),
  -- account: customers manage it. task: it stands for the origin of the URLs that creates name, one per account and origin.
  kind text not null check (kind in ('account', 'task')),
  -- Of a task endpoint, the origin. Its deliveries have the whole URL.
  url text not null,
  name text not null default '',
  -- The types of its events.
  events text[] not null,
  -- full: the object as a read shows it. thin: its id, as in the payload of the openai libraries.
  payload text not null default 'full' check (payload in ('full', 'thin')),
  -- Sealed. The previous one signs as well until it expires. Task endpoints have the secret of their account.
  secret bytea check ((kind = 'account') = (secret is not null)),
  previous_secret bytea,
  previous_secret_expires_at timestamptz,
  -- Attempts at once.
  concurrency smallint not null default 10 check (concurrency between 1 and 100),
  disabled_at timestamptz,
  -- customer: by the customer. gone: it responded with 410. failing: it has failed for days.
  disabled_reason text check (disabled_reason in ('customer', 'gone', 'failing')),
  -- Attempts that failed in a row, and the time of the first of them.
  failures integer not null default 0,
  failing_since timestamptz,
  -- Until then nothing is sent to an endpoint that keeps failing.
  paused_until timestamptz,
  -- When a create last named it, to a day; of task endpoints.
  used_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  check ((disabled_at is null) = (disabled_reason is null))
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0
);
create index webhook_endpoints_by_account on webhook_endpoints (account_id, created_at desc, id desc);
create unique index webhook_endpoints_of_tasks on webhook_endpoints (account_id, url) where kind = 'task';

-- The secret that signs deliveries to the URLs that creates name.
create table webhook_secrets (
  account_id uuid primary key references accounts (id),
  secret bytea not null,
  previous_secret bytea,
  previous_secret_expires_at timestamptz
);

-- One row for each event and endpoint. It names the object of the event, which is read when the delivery is sent.
create table webhook_deliveries (
  day date not null,
  id uuid not null,
  account_id uuid not null,
  endpoint_id uuid not null,
  -- The URL that a create named; null for the URL of the endpoint.
  url text,
  -- The same at every attempt and for every endpoint.
  event_id text not null,
  type text not null,
  -- The id of the task or other object.
  object_id text not null,
  -- What a read of the object does not show.
  data jsonb,
  occurred_at timestamptz not null,
  -- replaced: a newer event of the task made it superfluous.
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'replaced')),
  attempts integer not null default 0,
  -- Attempts since it was requested, by the event or by a customer.
  tries integer not null default 0,
  next_attempt_at timestamptz not null,
  -- The attempt under way. After this time it counts as lost, and another one begins.
  claimed_by uuid,
  claimed_until timestamptz,
  ended_at timestamptz,
  primary key (day, id),
  check ((state = 'pending') = (ended_at is null))
) partition by range (day);
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, next_attempt_at) where state = 'pending';
create index webhook_deliveries_of_progress on webhook_deliveries (endpoint_id, object_id)
  where state = 'pending' and type = 'video.progress';
create index webhook_deliveries_by_account on webhook_deliveries (account_id, occurred_at desc, id desc);
-- Those that a customer sends again after an outage.
create index webhook_deliveries_failed on webhook_deliveries (endpoint_id, occurred_at, id) where state = 'failed';
create table webhook_deliveries_default partition of webhook_deliveries default;

create table webhook_attempts (
  -- The day of the delivery.
  day date not null,
  delivery_id uuid not null,
  attempt integer not null,
  started_at timestamptz not null,
  duration_ms integer not null,
  -- The status of the response, or why there was none.
  status smallint,
  error text,
  -- The beginning of the response.
  response text,
  primary key (day, delivery_id, attempt)
) partition by range (day);
create table webhook_attempts_default partition of webhook_attempts default;

select ensure_partitions();

-- The webhook that the create of a task named: {"endpoint": id, "url": text, "events": [type]}.
alter table video_tasks add column webhook jsonb;
alter table transcription_tasks add column webhook jsonb;

-- Transcription tasks have events as well.
alter table transcription_tasks add column last_event integer not null default 0;
alter table transcription_tasks add column status_updated_at timestamptz;

-- What a webhook must know about an event. Events of before have no account, and are not delivered.
alter table task_events add column account_id uuid;
alter table task_events add column object text not null default 'video';
alter table task_events add column webhook jsonb;

-- A time-ordered UUID of version 7.
create function uuid_v7() returns uuid language sql volatile as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid
$$;

-- The id of an event of a task, which reveals nothing about other tasks.
create function task_event_id(task_id text, id bigint) returns text language sql immutable as $$
  select 'evt_' || md5(task_id || '/' || id)
$$;

-- Creates the deliveries of new events, in the transaction that records them. Progress counts when it passes a multiple of ten,
-- and replaces the progress that was not delivered yet.
create function deliver_task_events() returns trigger language plpgsql as $$
declare
  told integer;
begin
  if not exists (select from new_events n where n.webhook is not null or exists (
    select from webhook_endpoints e where e.account_id = n.account_id and e.kind = 'account' and e.disabled_at is null
  )) then
    return null;
  end if;
  with given as (
    select n.*, n.object || '.' || n.kind as type from new_events n where n.kind <> 'accepted'
  ), wanted as (
    select g.*, e.id as endpoint_id, null as url from given g
      join webhook_endpoints e on e.account_id = g.account_id and e.kind = 'account' and e.disabled_at is null
       and g.type = any (e.events)
    union all
    select g.*, (g.webhook ->> 'endpoint')::uuid, g.webhook ->> 'url' from given g where g.webhook -> 'events' ? g.type
  ), notable as (
    select * from wanted w
     where w.kind <> 'progress' or (w.data ->> 'progress')::integer / 10 > coalesce((
       select max((x.data ->> 'progress')::integer) from task_events x
        where x.day = w.day and x.task_id = w.task_id and x.id < w.id and x.kind = 'progress'), 0) / 10
  ), replaced as (
    -- The transactions of tasks never wait for locks of deliveries: one that is locked is sent as well.
    update webhook_deliveries d set state = 'replaced', ended_at = now()
      from (
        select x.day, x.id from notable n
          join webhook_deliveries x on x.endpoint_id = n.endpoint_id and x.object_id = n.task_id
         where x.type = 'video.progress' and x.state = 'pending' and x.claimed_until is null
           for update of x skip locked
      ) older
     where d.day = older.day and d.id = older.id
  ), delivery as (
    insert into webhook_deliveries (day, id, account_id, endpoint_id, url, event_id, type, object_id, occurred_at, next_attempt_at)
    select (now() at time zone 'utc')::date, uuid_v7(), account_id, endpoint_id, url, task_event_id(task_id, id), type, task_id,
           created_at, now()
      from notable order by task_id, id
    returning endpoint_id
  )
  -- A hint for the workers, sent with the commit.
  select count(pg_notify('webhook_deliveries', endpoint_id::text)) into told
    from (select distinct endpoint_id from delivery) as receivers;
  return null;
end $$;
create trigger task_events_delivered after insert on task_events
  referencing new table as new_events for each statement execute function deliver_task_events();
