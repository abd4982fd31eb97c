-- Transcription tasks: the permanent record, the tasks in flight, and the segments that a recording is cut into.

create table transcription_tasks (
  -- Derived from the id, like the day of a video task.
  day date not null,
  id text not null,
  account_id uuid not null,
  key_id uuid not null,
  model text not null,
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
  -- Changes each time the task is handed to the engine: the time in milliseconds, or 0 before. Another run stops at its
  -- next step.
  run bigint not null default 0,
  -- The tick that handed it over.
  claimed_by uuid,
  accepted_at timestamptz not null,
  not_before timestamptz not null,
  deadline_at timestamptz not null
) with (fillfactor = 50);
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
