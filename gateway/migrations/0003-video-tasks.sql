-- Video tasks: the permanent record, and the queue of tasks in flight.

create table video_tasks (
  -- Derived from the id, which contains the creation time, so that the id alone leads to the partition.
  day date not null,
  id text not null,
  account_id uuid not null,
  key_id uuid not null,
  model text not null,
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
  awakeable text,
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
  source_task_id text
) with (fillfactor = 50);
-- The queue. Only this index begins with the provider and covers queued tasks: with few statistics, the planner would
-- choose any other one that did.
create index open_tasks_queued on open_tasks (provider, account_id, key_id, accepted_at, task_id)
  where stage = 'accepted';
create index open_tasks_queued_by_account on open_tasks (account_id) where stage = 'accepted';
create index open_tasks_delayed on open_tasks (not_before) where stage = 'accepted' and run > 0;
create index open_tasks_overdue on open_tasks (deadline_at) where stage = 'accepted';
create index open_tasks_in_flight on open_tasks (provider, account_id, key_id) where stage <> 'accepted';
create index open_tasks_to_poll on open_tasks (provider, shard, next_poll_at) where stage in ('waiting', 'storing');
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
) with (fillfactor = 50);

-- How many tasks were ever started from each queue; from it, the API estimates how long a new task would wait. Video tasks
-- have one queue per provider, transcription tasks one for all.
create table queue_starts (
  queue text not null,
  model text not null,
  starts bigint not null,
  primary key (queue, model)
) with (fillfactor = 50);

-- A histogram of job durations. The weight of older jobs decays.
create table job_durations (
  provider text not null,
  model text not null,
  -- Jobs that took about 1.25 ^ bucket seconds.
  bucket smallint not null,
  weight double precision not null,
  primary key (provider, model, bucket)
) with (fillfactor = 50);

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
);
create index ticks_by_time on ticks (loop, key, ticked_at);
