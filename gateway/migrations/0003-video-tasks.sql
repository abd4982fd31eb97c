-- Video tasks: the record that readers read, and beside it the small table of what is still under way.

create table video_tasks (
  -- Derived from the id, which carries its creation time, so that an id leads to its partition.
  day date not null,
  id text not null,
  account_id uuid not null,
  key_id uuid not null,
  model text not null,
  family text not null check (family in ('A', 'B')),
  -- Which door it came through; it decides nothing but how the task is shown.
  created_via text not null check (created_via in ('videos', 'create', 'remix', 'chat')),
  state text not null check (state in ('pending', 'processing', 'completed', 'failed')),
  progress smallint not null default 0 check (progress between 0 and 100),
  -- The order as it was understood: everything resolved, nothing looked up again later.
  video_order jsonb not null,
  enhanced_prompt text not null,
  provider text not null,
  upstream jsonb,
  wallet text not null,
  -- The inputs of the price, kept so that a later change of prices does not touch this task.
  price jsonb not null,
  hold_micros bigint not null check (hold_micros >= 0),
  captured_micros bigint check (captured_micros between 0 and hold_micros),
  media_id uuid,
  error_code text,
  error_message text,
  created_at timestamptz not null,
  status_updated_at timestamptz not null,
  finished_at timestamptz,
  primary key (day, id),
  check ((state in ('completed', 'failed')) = (finished_at is not null)),
  check ((state = 'completed') = (media_id is not null)),
  check ((state = 'failed') = (error_code is not null))
) partition by range (day);
create index video_tasks_of_account on video_tasks (account_id, created_at desc, id desc);
create table video_tasks_default partition of video_tasks default;

create table task_events (
  day date not null,
  task_id text not null,
  id bigint generated always as identity,
  kind text not null,
  data jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (day, task_id, id)
) partition by range (day);
create table task_events_default partition of task_events default;

-- One row per task that has not ended: outbox, slots, and what the engine's loops need to find their
-- work. It is deleted in the transaction that ends the task, so it stays as small as what is in flight.
create table open_tasks (
  task_id text primary key,
  day date not null,
  account_id uuid not null,
  provider text not null,
  shard smallint not null,
  -- accepted: waiting for a slot · starting: handed to the engine · submitting: a provider is being
  -- asked · waiting: the provider works on it · storing: its result is being stored.
  stage text not null default 'accepted'
    check (stage in ('accepted', 'starting', 'submitting', 'waiting', 'storing')),
  -- Raised whenever the task is handed to the engine anew; an older run ends at its first step.
  run integer not null default 0,
  accepted_at timestamptz not null,
  not_before timestamptz not null,
  deadline_at timestamptz not null,
  -- When something last happened to it; silence for too long means the engine lost it.
  touched_at timestamptz not null,
  -- Submits that may have reached the provider, and those it certainly turned away.
  submits integer not null default 0,
  refusals integer not null default 0,
  awakeable text,
  upstream jsonb,
  submitted_at timestamptz,
  next_poll_at timestamptz,
  outcome jsonb
) with (fillfactor = 50);
create index open_tasks_accepted on open_tasks (provider, account_id, accepted_at) where stage = 'accepted';
create index open_tasks_in_flight on open_tasks (provider, account_id) where stage <> 'accepted';
create index open_tasks_to_poll on open_tasks (provider, shard, next_poll_at) where stage = 'waiting';

-- The last turn of each of the engine's loops. A worker that finds one silent starts it again.
create table engine_ticks (
  loop text not null,
  key text not null,
  ticked_at timestamptz not null,
  primary key (loop, key)
);
