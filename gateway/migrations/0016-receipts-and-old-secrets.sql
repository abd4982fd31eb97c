-- What was charged outlives what it was charged for, and the old secret of a rotated key is told from an expired key.

-- The priced quantities of whatever ended, so that its receipt can be read after it was deleted or its time is over.
alter table usage_entries add column prices jsonb not null default '[]';
-- The day of an entry is that of the end, which nobody who asks by id knows.
create index usage_entries_by_id on usage_entries (id);

create or replace function note_video_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, seconds, prices)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          new.state, coalesce(new.captured_micros, 0),
          case when new.state = 'completed' then (new.video_order ->> 'seconds')::numeric else 0 end,
          jsonb_build_array(new.price));
  return null;
end $$;

create or replace function note_transcription_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, seconds, prices)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          new.state, coalesce(new.captured_micros, 0),
          case when new.state = 'completed' then new.duration_ms / 1000.0 else 0 end, jsonb_build_array(new.price));
  return null;
end $$;

create or replace function note_request_usage() returns trigger language plpgsql as $$
begin
  insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, seconds, prices)
  values ((new.finished_at at time zone 'utc')::date, new.id, new.finished_at, new.account_id, new.key_id, new.model,
          case new.outcome when 'lost' then 'failed' else new.outcome end, new.captured_micros,
          seconds_charged(new.charged_for), coalesce(new.charged_for, new.held_for));
  return null;
end $$;

update usage_entries u set prices = ended.prices
  from (select id, jsonb_build_array(price) as prices from video_tasks
        union all
        select id, jsonb_build_array(price) from transcription_tasks
        union all
        select id, coalesce(charged_for, held_for) from metered_requests) ended
 where ended.id = u.id;

alter table keys add column is_old_secret boolean not null default false;
