-- Requests that are answered while the caller waits and charged by what they used: audio and dialogue.
-- The hold and the row are written together before a provider is asked, the outcome and the capture after.

create table metered_requests (
  -- Derived from the id, like that of a task.
  day date not null,
  id text not null,
  account_id uuid not null,
  key_id uuid not null,
  operation text not null,
  model text not null,
  provider text not null,
  wallet text not null,
  -- What was held for, and what was charged for: lists of priced quantities.
  held_for jsonb not null,
  charged_for jsonb,
  hold_micros bigint not null check (hold_micros >= 0),
  captured_micros bigint check (captured_micros between 0 and hold_micros),
  outcome text not null default 'open' check (outcome in ('open', 'completed', 'aborted', 'failed', 'lost')),
  -- While the process that serves it lives, it moves this on; past it, the hold goes back.
  lapses_at timestamptz not null,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (day, id),
  check ((outcome = 'open') = (finished_at is null)),
  check ((outcome = 'open') = (captured_micros is null))
) partition by range (day);
create index metered_requests_of_account on metered_requests (account_id, created_at desc, id desc);
create index metered_requests_open on metered_requests (lapses_at) where outcome = 'open';
create table metered_requests_default partition of metered_requests default;

create or replace function ensure_partitions(months_ahead integer default 3) returns void language plpgsql as $$
declare
  parent text;
  month date;
begin
  -- Two processes starting at once would otherwise both try to make the same partition.
  perform pg_advisory_xact_lock(hashtextextended('kinora:partitions', 0));
  foreach parent in array array['video_tasks', 'task_events', 'ledger_entries', 'metered_requests'] loop
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
