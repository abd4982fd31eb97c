-- The schema of the first version. Small tables whose rows change all the time have settings for autovacuum: by default
-- PostgreSQL vacuums a table when a fifth of it is dead, and slowly; statements would read the dead rows and index entries
-- until then.

-- Accounts, their API keys, and the spending limits of keys.

create table plans (
  id uuid primary key,
  name text not null unique,
  -- The amount that one cycle of a subscription grants.
  cycle_quota_micros bigint not null check (cycle_quota_micros >= 0),
  cycle_days integer not null check (cycle_days > 0),
  created_at timestamptz not null default now()
);

create table accounts (
  id uuid primary key,
  name text not null,
  status text not null default 'active' check (status in ('active', 'suspended')),
  -- 'failed' after a declined top-up. It changes the error message of a low balance and blocks nothing by itself.
  payment_state text not null default 'ok' check (payment_state in ('ok', 'failed')),
  -- The most that the account may spend in a calendar month (UTC), over both of its wallets.
  spend_cap_micros bigint check (spend_cap_micros >= 0),
  -- Null: the instance setting applies.
  concurrency integer check (concurrency > 0),
  media_retention_days integer check (media_retention_days between 1 and 36500),
  task_retention_days integer check (task_retention_days between 1 and 36500),
  created_at timestamptz not null default now()
);
create index accounts_by_created_at on accounts (created_at desc, id desc);

create table subscriptions (
  account_id uuid primary key references accounts (id),
  plan_id uuid references plans (id),
  cycle_started_at timestamptz not null,
  cycle_ends_at timestamptz not null,
  ends_at timestamptz not null,
  -- The end has passed and the rest of the last cycle has been removed from the wallet.
  has_ended boolean not null default false
);
create index subscriptions_due on subscriptions (least(cycle_ends_at, ends_at)) where not has_ended;

create table keys (
  id uuid primary key,
  -- Null for operator keys, which belong to the instance.
  account_id uuid references accounts (id),
  kind text not null check (kind in ('payg', 'subscription', 'admin')),
  -- What an operator key may do. Null for all others.
  role text check (role in ('read', 'support', 'finance', 'admin')),
  name text not null,
  -- A keyed hash. The secret itself is returned once, when the key is created, and never stored.
  hash bytea not null unique,
  -- The last characters of the secret, to tell keys apart in lists.
  hint text not null,
  -- Null allows every model and every address.
  models text[],
  addresses text[],
  expires_at timestamptz,
  disabled_at timestamptz,
  deleted_at timestamptz,
  -- The vocabulary of task states that the key's client expects.
  dialect text not null default 'reference' check (dialect in ('reference', 'openai')),
  -- Requests per minute over all operations. Null: only the limits of each group apply.
  requests_per_minute integer check (requests_per_minute > 0),
  -- Overrides of the instance's limits by group, such as {"create": 600}.
  limits jsonb not null default '{}',
  -- Null: the instance setting applies.
  concurrency integer check (concurrency > 0),
  -- Approximate: written in batches, outside of the request.
  last_used_at timestamptz,
  -- The row holds the previous secret of a rotated key, which gets its own error message after it has expired.
  is_old_secret boolean not null default false,
  created_at timestamptz not null default now(),
  check ((kind = 'admin') = (account_id is null)),
  check ((kind = 'admin') = (role is not null))
);
create index keys_by_account on keys (account_id);
create index keys_by_created_at on keys (created_at desc, id desc);
create index keys_of_operators on keys (created_at desc, id desc) where kind = 'admin';

-- The total that a key may spend. Kept apart from `keys` so that a hold does not rewrite the key's row.
create table key_quotas (
  key_id uuid primary key references keys (id),
  quota_micros bigint not null check (quota_micros >= 0),
  used_micros bigint not null default 0 check (used_micros >= 0),
  -- Earlier holds are not part of `used_micros`, so their release does not reduce it.
  counted_from timestamptz not null default clock_timestamp()
);

-- The amount that a key may spend per period. The first hold of a new period resets the counter.
create table key_budgets (
  key_id uuid not null references keys (id),
  period text not null check (period in ('hour', 'day', 'week', 'month')),
  limit_micros bigint not null check (limit_micros >= 0),
  used_micros bigint not null default 0 check (used_micros >= 0),
  period_started_at timestamptz not null default 'epoch',
  -- Earlier holds are not part of `used_micros`, so their release does not reduce it.
  counted_from timestamptz not null default clock_timestamp(),
  primary key (key_id, period)
) with (fillfactor = 50);

-- Every process caches keys. These triggers invalidate the caches, also when the change was made by hand in SQL.
create function notify_key_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('key_changes', 'key:' || encode(old.hash, 'hex'));
  return null;
end $$;
-- An update of `last_used_at` does not invalidate anything.
create trigger keys_updated after update on keys
  for each row when (new.last_used_at is not distinct from old.last_used_at) execute function notify_key_change();
create trigger keys_deleted after delete on keys
  for each row execute function notify_key_change();

create function notify_account_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('key_changes', 'account:' || old.id);
  return null;
end $$;
create trigger accounts_updated after update on accounts
  for each row execute function notify_account_change();

-- Balances, ledger, and prices. Amounts are integer micro-units of the instance's currency.

create table balances (
  account_id uuid not null references accounts (id),
  -- Pay-as-you-go keys spend from 'payg', subscription keys from the quota that each cycle grants.
  wallet text not null check (wallet in ('payg', 'subscription')),
  available_micros bigint not null default 0 check (available_micros >= 0),
  held_micros bigint not null default 0 check (held_micros >= 0),
  -- Holds minus releases of the month that began on `spent_since`. The first hold of a new month resets both.
  spent_micros bigint not null default 0 check (spent_micros >= 0),
  spent_since date not null default 'epoch',
  -- When the current cycle's quota was granted. The release of an earlier hold does not return to the wallet.
  opened_at timestamptz,
  primary key (account_id, wallet)
) with (fillfactor = 50);

-- A movement consists of two entries that sum to zero; a balance is the running sum of its entries.
create table ledger_entries (
  -- The creation day of the task, so that all entries of a task share a partition and can be unique in it.
  -- For movements without a task, the day of the movement.
  day date not null,
  id bigint generated always as identity,
  account_id uuid not null,
  wallet text not null,
  -- The id of a task, a metered request, or an account movement.
  task_id text,
  -- The key whose limits a hold counts against; null for movements without a key.
  key_id uuid,
  movement text not null
    check (movement in ('top_up', 'grant', 'adjustment', 'expiry', 'hold', 'capture', 'release', 'refund')),
  book text not null check (book in ('funding', 'available', 'held', 'revenue')),
  amount_micros bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (day, id)
) partition by range (day);
-- A task is held, captured, and released at most once each, even if a step runs twice.
create unique index ledger_entries_unique_movement on ledger_entries (day, task_id, movement, book);
create index ledger_entries_by_account on ledger_entries (account_id, day, id);
-- Entries are only appended, so a small BRIN index finds recent ones.
create index ledger_entries_by_created_at on ledger_entries using brin (created_at)
  with (pages_per_range = 32, autosummarize = on);
-- These movements are rare. The frequent ones are found by scanning from the newest entry.
create index ledger_entries_without_task on ledger_entries (movement, day, id)
  where movement in ('top_up', 'grant', 'adjustment', 'expiry');
create index ledger_entries_of_refunds on ledger_entries (day, id) where movement = 'refund';
create table ledger_entries_default partition of ledger_entries default;

-- Movements without a task. The id is the `task_id` of the ledger entries.
create table account_movements (
  id text primary key,
  account_id uuid not null references accounts (id),
  wallet text not null check (wallet in ('payg', 'subscription')),
  kind text not null check (kind in ('top_up', 'grant', 'adjustment', 'expiry', 'refund')),
  -- Negative for a debit.
  amount_micros bigint not null,
  actor text not null,
  reason text not null,
  reference text,
  created_at timestamptz not null default now(),
  unique (account_id, kind, reference)
);
create index account_movements_by_account on account_movements (account_id, created_at desc, id desc);

-- What a refund returns money of. The amount is in its movement.
create table refunds (
  id text primary key references account_movements (id),
  -- The day of its ledger entries.
  day date not null,
  -- The task or metered request, and its creation day.
  task_id text not null,
  task_day date not null,
  -- The day of the usage entry of the task or request.
  usage_day date not null
);
create index refunds_by_task on refunds (task_id);

-- Every process caches prices and settings. The payload is the name of the changed table.
create function notify_instance_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('instance_changes', tg_table_name);
  return null;
end $$;

-- Prices set at run time. The newest one that has started applies; without one, the price of the catalog.
create table prices (
  id uuid primary key,
  model text not null,
  unit text not null,
  -- The conditions of the price; null applies to every request.
  resolution text,
  sound boolean,
  input text,
  unit_micros bigint not null check (unit_micros >= 0),
  version integer not null,
  starts_at timestamptz not null,
  actor text not null,
  created_at timestamptz not null default now(),
  unique nulls not distinct (model, unit, resolution, sound, input, version)
);
create trigger prices_changed after insert on prices
  for each statement execute function notify_instance_change();

-- The result of the last ledger audit. Findings of the last full audit stay until the next full audit.
create table ledger_audits (
  singleton boolean primary key default true check (singleton),
  checked_at timestamptz not null,
  duration_ms integer not null,
  findings jsonb not null,
  full_audit_at timestamptz not null,
  full_audit_findings jsonb not null
);

-- The sums of a wallet's entries up to `entry_id`, so that an audit adds up only the later ones.
create table ledger_checkpoints (
  account_id uuid not null,
  wallet text not null,
  entry_id bigint not null,
  available_micros bigint not null,
  held_micros bigint not null,
  primary key (account_id, wallet)
);

-- Video tasks: the permanent record, and the queue of tasks in flight.

create table video_tasks (
  -- Derived from the id, which contains the creation time, so that the id alone leads to the partition.
  day date not null,
  id text not null,
  account_id uuid not null,
  key_id uuid not null,
  model text not null,
  -- The name of the model in the request, which callers get back; null if it is the id of the model. Prices, routes and
  -- usage belong to the model, so `model` is its id.
  model_name text,
  family text not null,
  -- The endpoint that created the task. It affects only how the task is presented.
  created_via text not null check (created_via in ('videos', 'create', 'remix', 'chat')),
  state text not null check (state in ('pending', 'processing', 'completed', 'failed')),
  progress smallint not null default 0 check (progress between 0 and 100),
  -- The resolved order: later changes of configuration do not affect it.
  video_order jsonb not null,
  enhanced_prompt text not null,
  provider text not null,
  upstream jsonb,
  wallet text not null,
  -- The lines of the price with their inputs, so that later price changes do not affect this task.
  prices jsonb not null,
  hold_micros bigint not null check (hold_micros >= 0),
  captured_micros bigint check (captured_micros between 0 and hold_micros),
  -- What a completed video cost at its provider; null if that is not configured.
  cost_micros bigint check (cost_micros >= 0),
  media_id uuid,
  error_code text,
  error_message text,
  -- The id of the task's newest event.
  last_event integer not null default 0,
  created_at timestamptz not null,
  status_updated_at timestamptz not null,
  finished_at timestamptz,
  primary key (day, id),
  check ((state in ('completed', 'failed')) = (finished_at is not null)),
  check ((state = 'completed') = (media_id is not null)),
  check ((state = 'failed') = (error_code is not null))
) partition by range (day);
create index video_tasks_by_account on video_tasks (account_id, created_at desc, id desc);
create index video_tasks_by_created_at on video_tasks (created_at desc, id desc);
create index video_tasks_failed on video_tasks (created_at desc, id desc) where error_code is not null;
create table video_tasks_default partition of video_tasks default;

create table task_events (
  day date not null,
  task_id text not null,
  -- Counted per task, so that an id reveals nothing about other tasks.
  id bigint not null,
  kind text not null,
  data jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (day, task_id, id)
) partition by range (day);
create table task_events_default partition of task_events default;

-- One row for each submit to a provider, written after the provider has answered or the call has failed.
create table task_attempts (
  day date not null,
  task_id text not null,
  attempt integer not null,
  provider text not null,
  upstream_model text not null,
  decision jsonb,
  started_at timestamptz not null,
  ended_at timestamptz not null default clock_timestamp(),
  outcome text not null check (
    outcome in ('accepted', 'not_delivered', 'busy', 'unauthorized', 'rejected', 'moderated', 'unknown')
  ),
  -- The provider accepted a job although an earlier attempt already had one. The customer is not charged for it.
  is_duplicate boolean not null default false,
  -- Requests and responses, with secrets redacted.
  exchanges jsonb not null default '[]',
  -- Why the attempt failed, at the submit or later. Redacted, visible to operators only.
  failure_reason text,
  primary key (day, task_id, attempt)
) partition by range (day);
create table task_attempts_default partition of task_attempts default;

-- One row per unfinished task: outbox, slots, and work for the engine's loops. The transaction that ends the task
-- deletes the row, so the table stays as small as the number of tasks in flight.
create table open_tasks (
  task_id text primary key,
  day date not null,
  account_id uuid not null,
  key_id uuid not null,
  model text not null,
  -- Length of the video, which is its cost in the fair queue.
  seconds integer not null check (seconds > 0),
  provider text not null,
  shard smallint not null,
  -- accepted: in the queue · starting: handed to the engine · submitting: the provider is being called ·
  -- waiting: the provider is working · storing: the result is being downloaded.
  stage text not null default 'accepted'
    check (stage in ('accepted', 'starting', 'submitting', 'waiting', 'storing')),
  -- Changes each time the task is handed to the engine: the time in milliseconds, or 0 before. Another run stops at its
  -- next step.
  run bigint not null default 0,
  -- The tick that handed it over.
  claimed_by uuid,
  accepted_at timestamptz not null,
  not_before timestamptz not null,
  deadline_at timestamptz not null,
  -- Submits begun, and submits that a provider certainly refused. An execution of the submit step goes on only if the
  -- number of submits is the one it has read, so it must never decrease.
  submits integer not null default 0,
  refusals integer not null default 0,
  -- The routing decision: {"provider", "reason", "skipped": [{"provider", "reason"}]}.
  decision jsonb,
  -- Providers that refused the task since the list was last reset.
  tried_providers text[] not null default '{}',
  upstream jsonb,
  -- What the submitted job costs at its provider; null if that is not configured.
  cost_micros bigint,
  submitted_at timestamptz,
  next_poll_at timestamptz,
  -- Time of the first submit with an unknown outcome. While it is set, the task stays with its provider.
  outcome_unknown_since timestamptz,
  outcome jsonb,
  outcome_at timestamptz,
  -- The source of a remix. While this row exists, retention neither deletes the source task nor its media.
  source_task_id text,
  -- Downloads of the result that failed, were incomplete or too slow. Retries have fewer permits than first tries.
  failed_downloads integer not null default 0
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0
);
-- The queue. Only this index begins with the provider and covers queued tasks: with few statistics, the planner would
-- choose any other one that did.
create index open_tasks_queued on open_tasks (provider, account_id, key_id, accepted_at, task_id)
  where stage = 'accepted';
create index open_tasks_queued_by_account on open_tasks (account_id) where stage = 'accepted';
create index open_tasks_delayed on open_tasks (not_before) where stage = 'accepted' and run > 0;
create index open_tasks_overdue on open_tasks (deadline_at) where stage = 'accepted';
create index open_tasks_in_flight on open_tasks (provider, account_id, key_id) where stage <> 'accepted';
create index open_tasks_to_poll on open_tasks (provider, shard, next_poll_at) where stage = 'waiting';
create index open_tasks_by_source on open_tasks (source_task_id) where source_task_id is not null;

-- Start-time fair queueing. A queue is either a provider, shared by accounts, or a provider and an account, shared by
-- the account's keys. Virtual time counts seconds of video. A task starts at the virtual finish of its owner's previous
-- task, but not before the newest virtual start of the queue, so idle owners save up nothing. The task with the
-- smallest virtual start is next.
create table queue_shares (
  queue text not null,
  owner uuid not null,
  virtual_start bigint not null,
  virtual_finish bigint not null check (virtual_finish >= virtual_start),
  primary key (queue, owner)
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0
);

-- How many tasks were ever started from each queue; from it, the API estimates how long a new task would wait. Video tasks
-- have one queue per provider, transcription tasks one for all.
create table queue_starts (
  queue text not null,
  model text not null,
  starts bigint not null,
  primary key (queue, model)
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0
);

-- A histogram of job durations. The weight of older jobs decays.
create table job_durations (
  provider text not null,
  model text not null,
  -- Jobs that took about 1.25 ^ bucket seconds.
  bucket smallint not null,
  weight double precision not null,
  primary key (provider, model, bucket)
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0
);

-- The task of each provider job. If a provider returns one job for two tasks, it belongs to the first, and the second
-- never sees its result.
create table claimed_jobs (
  provider text not null,
  -- A hash of the provider's reference.
  job uuid not null,
  task_id text not null,
  claimed_at timestamptz not null default now(),
  primary key (provider, job)
);
create index claimed_jobs_by_claimed_at on claimed_jobs (claimed_at);

-- The recent ticks of the dispatchers. A tick that the engine repeats finds its id, and claims nothing more.
-- A periodic job of the workers has one row, with an empty id and the time of its last run.
create table ticks (
  loop text not null,
  key text not null,
  id text not null,
  ticked_at timestamptz not null,
  primary key (loop, key, id)
) with (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0
);
create index ticks_by_time on ticks (loop, key, ticked_at);

-- How many video tasks are in flight, by owner and model. A dispatcher reads it whenever it starts tasks: to count the tasks
-- themselves would take longer the more of them there are. Triggers keep it.

create table tasks_in_flight (
  provider text not null,
  account_id uuid not null,
  key_id uuid not null,
  model text not null,
  tasks bigint not null,
  primary key (provider, account_id, key_id, model)
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0
);

-- The rows are locked in a fixed order, so that concurrent transactions do not deadlock.
create function count_tasks_in_flight() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into tasks_in_flight as f (provider, account_id, key_id, model, tasks)
    select provider, account_id, key_id, model, count(*) from new_rows where stage <> 'accepted'
     group by provider, account_id, key_id, model order by provider, account_id, key_id, model
    on conflict (provider, account_id, key_id, model) do update set tasks = f.tasks + excluded.tasks;
  elsif tg_op = 'TRUNCATE' then
    delete from tasks_in_flight;
  elsif tg_op = 'DELETE' then
    insert into tasks_in_flight as f (provider, account_id, key_id, model, tasks)
    select provider, account_id, key_id, model, -count(*) from old_rows where stage <> 'accepted'
     group by provider, account_id, key_id, model order by provider, account_id, key_id, model
    on conflict (provider, account_id, key_id, model) do update set tasks = f.tasks + excluded.tasks;
  else
    insert into tasks_in_flight as f (provider, account_id, key_id, model, tasks)
    select provider, account_id, key_id, model, sum(change)
      from (select provider, account_id, key_id, model, 1 as change from new_rows where stage <> 'accepted'
            union all
            select provider, account_id, key_id, model, -1 from old_rows where stage <> 'accepted') as changes
     group by provider, account_id, key_id, model having sum(change) <> 0
     order by provider, account_id, key_id, model
    on conflict (provider, account_id, key_id, model) do update set tasks = f.tasks + excluded.tasks;
  end if;
  return null;
end $$;

create trigger open_tasks_inserted after insert on open_tasks
  referencing new table as new_rows for each statement execute function count_tasks_in_flight();
create trigger open_tasks_updated after update on open_tasks
  referencing old table as old_rows new table as new_rows for each statement execute function count_tasks_in_flight();
create trigger open_tasks_deleted after delete on open_tasks
  referencing old table as old_rows for each statement execute function count_tasks_in_flight();
create trigger open_tasks_truncated after truncate on open_tasks
  for each statement execute function count_tasks_in_flight();

-- How long tasks were in progress, until their result was stored, by what was ordered. The weight of older ones decays.
create table task_durations (
  provider text not null,
  model text not null,
  -- Length of the video.
  seconds integer not null,
  -- Width times height.
  pixels integer not null,
  -- Tasks that took about 1.06 ^ bucket seconds.
  bucket smallint not null,
  weight double precision not null,
  primary key (provider, model, seconds, pixels, bucket)
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0
);

-- Stored files, and the characters made from them.

create table media (
  id uuid primary key,
  account_id uuid not null,
  task_id text not null,
  kind text not null check (kind in ('video', 'reference', 'thumbnail', 'spritesheet', 'clip', 'portrait')),
  storage_key text not null,
  content_type text not null,
  size_bytes bigint not null,
  sha256 bytea not null,
  width integer,
  height integer,
  duration_ms integer,
  created_at timestamptz not null default now(),
  -- Null for references, which are removed when their task ends.
  expires_at timestamptz,
  -- When the file was removed. The row stays for as long as its task may exist.
  removed_at timestamptz
);
create index media_by_task on media (task_id);
create index media_by_storage_key on media (storage_key);
create index media_to_remove on media (expires_at) where removed_at is null and expires_at is not null;
create index media_removed on media (created_at) where removed_at is not null;
create index media_references on media (created_at) where kind = 'reference';
-- A variant of a video is made once, on first request.
create unique index media_unique_variant on media (task_id, kind) where kind in ('thumbnail', 'spritesheet');

create table characters (
  id uuid primary key,
  account_id uuid not null references accounts (id),
  username text not null unique check (username ~ '^[a-z0-9_.]{3,32}$'),
  -- The source video and the part of it, so that the same request returns the same character.
  source text not null,
  clip_media_id uuid not null references media (id),
  portrait_media_id uuid not null references media (id),
  is_private boolean not null default false,
  -- Set if the character was made for one task and is removed with it; null for characters of the library.
  task_id text,
  created_at timestamptz not null default now()
);
create unique index characters_unique_source on characters (account_id, source) where task_id is null;
create index characters_by_task on characters (task_id) where task_id is not null;
create index characters_by_account on characters (account_id, created_at desc, id desc);

-- List positions of deleted characters, so that a cursor that names one stays valid.
create table deleted_characters (
  id uuid primary key,
  account_id uuid not null,
  created_at timestamptz not null,
  deleted_at timestamptz not null default now()
);

-- Synchronous requests that are charged by usage: audio and dialogue. The hold and the row are written in one
-- transaction before the provider is called, the outcome and the capture in another one afterwards.

create table metered_requests (
  -- Derived from the id, like the day of a task.
  day date not null,
  id text not null,
  account_id uuid not null,
  key_id uuid not null,
  operation text not null,
  model text not null,
  -- The name of the model in the request; null if it is the id.
  model_name text,
  provider text not null,
  wallet text not null,
  -- Lists of priced quantities: the estimate that was held, and the usage that was charged.
  held_for jsonb not null,
  charged_for jsonb,
  hold_micros bigint not null check (hold_micros >= 0),
  captured_micros bigint check (captured_micros between 0 and hold_micros),
  -- What the request cost at its provider; null if that is not configured.
  cost_micros bigint check (cost_micros >= 0),
  -- abandoned: the lease expired because the serving process died.
  outcome text not null default 'open'
    check (outcome in ('open', 'completed', 'aborted', 'failed', 'abandoned')),
  -- The serving process extends the lease. After it expires, the hold is released.
  lease_expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (day, id),
  check ((outcome = 'open') = (finished_at is null)),
  check ((outcome = 'open') = (captured_micros is null))
) partition by range (day);
create index metered_requests_by_account on metered_requests (account_id, created_at desc, id desc);
create index metered_requests_open on metered_requests (lease_expires_at) where outcome = 'open';
create table metered_requests_default partition of metered_requests default;

-- Transcription tasks: the permanent record, the tasks in flight, and the segments that a recording is cut into.

create table transcription_tasks (
  -- Derived from the id, like the day of a video task.
  day date not null,
  id text not null,
  account_id uuid not null,
  key_id uuid not null,
  model text not null,
  -- The name of the model in the request; null if it is the id.
  model_name text,
  state text not null default 'pending' check (state in ('pending', 'processing', 'completed', 'failed')),
  -- The resolved order: later changes of configuration do not affect it.
  transcription_order jsonb not null,
  duration_ms bigint not null check (duration_ms > 0),
  -- Length of the part that has been transcribed.
  done_ms bigint not null default 0 check (done_ms >= 0),
  wallet text not null,
  -- The lines of the price with their inputs, so that later price changes do not affect this task.
  prices jsonb not null,
  hold_micros bigint not null check (hold_micros >= 0),
  captured_micros bigint check (captured_micros between 0 and hold_micros),
  -- The provider of the last part, and what all parts cost at their providers; null if that is not configured.
  provider text,
  cost_micros bigint check (cost_micros >= 0),
  error_code text,
  error_message text,
  -- Storage key of the recording; null after the recording was removed.
  recording_key text,
  created_at timestamptz not null,
  finished_at timestamptz,
  -- When the transcript of a completed task is removed, and whether its segments still exist.
  expires_at timestamptz,
  has_transcript boolean not null default false,
  primary key (day, id),
  check ((state in ('completed', 'failed')) = (finished_at is not null)),
  check ((state = 'completed') = (expires_at is not null)),
  check ((state = 'failed') = (error_code is not null))
) partition by range (day);
create index transcription_tasks_by_account on transcription_tasks (account_id, created_at desc, id desc);
create index transcription_tasks_by_created_at on transcription_tasks (created_at desc, id desc);
create index transcription_tasks_to_expire on transcription_tasks (expires_at) where has_transcript;
create index transcription_tasks_with_recording on transcription_tasks (finished_at) where recording_key is not null;
create table transcription_tasks_default partition of transcription_tasks default;

-- One row per unfinished task, deleted in the transaction that ends the task.
create table open_transcriptions (
  task_id text primary key,
  day date not null,
  account_id uuid not null,
  -- accepted: in the queue · starting: handed to the engine · working: a worker transcribes it.
  stage text not null default 'accepted' check (stage in ('accepted', 'starting', 'working')),
  -- All segments of the recording are in `transcription_segments`.
  is_planned boolean not null default false,
  -- Changes each time the task is handed to the engine: the time in milliseconds, or 0 before. Another run stops at its
  -- next step.
  run bigint not null default 0,
  -- The tick that handed it over.
  claimed_by uuid,
  accepted_at timestamptz not null,
  not_before timestamptz not null,
  deadline_at timestamptz not null
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0
);
create index open_transcriptions_by_stage on open_transcriptions (stage, account_id, accepted_at);

-- Segments cover the recording without gaps and overlaps. Together, the segments of a completed task are its
-- transcript; the segments of a failed task are deleted when it ends.
create table transcription_segments (
  task_id text not null,
  n integer not null check (n >= 0),
  start_ms bigint not null check (start_ms >= 0),
  end_ms bigint not null check (end_ms > start_ms),
  -- Failed requests that may have reached the provider, and requests that it certainly refused.
  failures integer not null default 0,
  refusals integer not null default 0,
  not_before timestamptz,
  transcript jsonb,
  primary key (task_id, n)
);

-- Provider and model configuration set at run time, circuit breakers, and inbound webhooks.

-- Overrides of the providers in the configuration file. A removed provider stays until its tasks have ended.
create table provider_configs (
  name text primary key,
  settings jsonb not null,
  -- AES-256-GCM under the newest of CREDENTIAL_SECRETS; null if the provider has no credential.
  credential bytea,
  -- The last characters of the credential, to tell credentials apart.
  credential_hint text,
  removed_at timestamptz,
  updated_at timestamptz not null default now()
);
create trigger provider_configs_changed after insert or update or delete on provider_configs
  for each row execute function notify_instance_change();

-- Overrides of a model's routes in the configuration file.
create table model_configs (
  model text primary key,
  settings jsonb not null,
  updated_at timestamptz not null default now()
);
create trigger model_configs_changed after insert or update or delete on model_configs
  for each row execute function notify_instance_change();

-- Circuit breakers, shared by all processes. A route without a row is healthy.
create table route_health (
  provider text not null,
  model text not null,
  -- The breaker is open until then; afterwards one probe at a time is allowed.
  open_until timestamptz not null,
  -- Consecutive openings. Each one lasts longer.
  openings integer not null default 1,
  reason text not null,
  -- The breaker opened because the provider refused the credential.
  is_unauthorized boolean not null default false,
  -- The current probe must report its result by then.
  probed_until timestamptz not null default 'epoch',
  -- Set when a probe succeeded. The load then increases step by step.
  recovered_at timestamptz,
  primary key (provider, model)
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0
);

-- Ids of the webhooks received from providers, to recognize redeliveries.
create table webhook_receipts (
  provider text not null,
  id text not null,
  received_at timestamptz not null default now(),
  primary key (provider, id)
);
create index webhook_receipts_by_received_at on webhook_receipts (received_at);

-- Recordings for which a provider reported another duration than the one that was measured and charged.

create table duration_mismatches (
  provider text primary key,
  mismatches bigint not null,
  last_at timestamptz not null
) with (fillfactor = 50);

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
  -- For the receipts of deleted tasks.
  model_name text,
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
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, model_name, outcome, captured_micros, provider,
                             cost_micros, seconds, prices)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          new.model_name, new.state, coalesce(new.captured_micros, 0), new.provider, new.cost_micros,
          case when new.state = 'completed' then (new.video_order ->> 'seconds')::numeric else 0 end, new.prices);
  return null;
end $$;
create trigger video_tasks_ended after update on video_tasks
  for each row when (old.finished_at is null and new.finished_at is not null) execute function record_video_usage();

create function record_transcription_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, model_name, outcome, captured_micros, provider,
                             cost_micros, seconds, prices)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          new.model_name, new.state, coalesce(new.captured_micros, 0), new.provider, new.cost_micros,
          case when new.state = 'completed' then new.duration_ms / 1000.0 else 0 end, new.prices);
  return null;
end $$;
create trigger transcription_tasks_ended after update on transcription_tasks
  for each row when (old.finished_at is null and new.finished_at is not null)
  execute function record_transcription_usage();

create function record_request_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, model_name, outcome, captured_micros, provider,
                             cost_micros, seconds, prices)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          new.model_name, case new.outcome when 'abandoned' then 'failed' else new.outcome end, new.captured_micros,
          new.provider, new.cost_micros, seconds_charged(new.charged_for), coalesce(new.charged_for, new.held_for));
  return null;
end $$;
create trigger metered_requests_ended after update on metered_requests
  for each row when (old.finished_at is null and new.finished_at is not null) execute function record_request_usage();
