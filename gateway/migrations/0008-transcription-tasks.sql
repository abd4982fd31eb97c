-- Long recordings: the record that readers read, beside it the small table of what is still under way, and the
-- pieces a recording is cut into.

create table transcription_tasks (
  -- Derived from the id, like that of a video task.
  day date not null,
  id text not null,
  account_id uuid not null,
  key_id uuid not null,
  model text not null,
  state text not null default 'pending' check (state in ('pending', 'processing', 'completed', 'failed')),
  -- The order as it was understood: everything resolved, nothing looked up again later.
  transcription_order jsonb not null,
  duration_ms bigint not null check (duration_ms > 0),
  -- How much of it has been written down.
  done_ms bigint not null default 0 check (done_ms >= 0),
  wallet text not null,
  -- The inputs of the price, kept so that a later change of prices does not touch this task.
  price jsonb not null,
  hold_micros bigint not null check (hold_micros >= 0),
  captured_micros bigint check (captured_micros between 0 and hold_micros),
  error_code text,
  error_message text,
  -- Where the recording lies; null once it was removed.
  recording_key text,
  created_at timestamptz not null,
  finished_at timestamptz,
  -- When the transcript of a completed task goes, and whether its pieces are still there.
  expires_at timestamptz,
  has_transcript boolean not null default false,
  primary key (day, id),
  check ((state in ('completed', 'failed')) = (finished_at is not null)),
  check ((state = 'completed') = (expires_at is not null)),
  check ((state = 'failed') = (error_code is not null))
) partition by range (day);
create index transcription_tasks_of_account on transcription_tasks (account_id, created_at desc, id desc);
create index transcription_tasks_to_expire on transcription_tasks (expires_at) where has_transcript;
create index transcription_tasks_with_recording on transcription_tasks (finished_at) where recording_key is not null;
create table transcription_tasks_default partition of transcription_tasks default;

-- One row per task that has not ended, deleted in the transaction that ends it.
create table open_transcriptions (
  task_id text primary key,
  day date not null,
  account_id uuid not null,
  -- accepted: waiting for its turn · starting: handed to the engine · working: a worker is at it.
  stage text not null default 'accepted' check (stage in ('accepted', 'starting', 'working')),
  -- Raised whenever the task is handed to the engine anew; an older run ends at its next step.
  run integer not null default 0,
  accepted_at timestamptz not null,
  not_before timestamptz not null,
  deadline_at timestamptz not null,
  touched_at timestamptz not null
) with (fillfactor = 50);
create index open_transcriptions_by_stage on open_transcriptions (stage, account_id, accepted_at);

-- What a recording was cut into, without gaps and without overlaps. The transcripts of a completed task's pieces
-- are its transcript; those of any other task go when it ends.
create table transcription_segments (
  task_id text not null,
  n integer not null check (n >= 0),
  start_ms bigint not null check (start_ms >= 0),
  end_ms bigint not null check (end_ms > start_ms),
  -- Requests that came to nothing: those that may have arrived, and those that were certainly turned away.
  failures integer not null default 0,
  refusals integer not null default 0,
  not_before timestamptz,
  transcript jsonb,
  primary key (task_id, n)
);

-- Every partitioned table is cut by month in the same way, so none has to be named here any more.
create or replace function ensure_partitions(months_ahead integer default 3) returns void language plpgsql as $$
declare
  parent text;
  month date;
begin
  -- Two processes starting at once would otherwise both try to make the same partition.
  perform pg_advisory_xact_lock(hashtextextended('kinora:partitions', 0));
  for parent in
    select c.relname from pg_partitioned_table p join pg_class c on c.oid = p.partrelid
     where c.relnamespace = current_schema()::regnamespace order by c.relname
  loop
    for step in 0..months_ahead loop
      month := (date_trunc('month', now() at time zone 'utc') + make_interval(months => step))::date;
      continue when to_regclass(format('%I', parent || to_char(month, '_YYYY_MM'))) is not null;
      begin
        execute format('create table %I partition of %I for values from (%L) to (%L)',
          parent || to_char(month, '_YYYY_MM'), parent, month, (month + interval '1 month')::date);
      exception when check_violation then
        raise warning 'rows of % are in the default partition of % and stay there', month, parent;
      end;
    end loop;
  end loop;
end $$;
