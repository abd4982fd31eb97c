-- The ids that the database makes have the number of the cell, as those of the service have (docs/cells.md).

-- The 12 bits after the version of a UUID, and the first digits of the id of an event. `platform/ids/cell.ts` has the same number.
create function cell_digits() returns text language sql immutable as $$
  select '000'
$$;

-- A time-ordered UUID of version 7.
create or replace function uuid_v7() returns uuid language sql volatile as $$
  select encode(overlay(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6)
    placing decode('7' || cell_digits(), 'hex') from 7 for 2), 'hex')::uuid
$$;

-- The id of an event of a task, which reveals nothing about other tasks.
create or replace function task_event_id(task_id text, id bigint) returns text language sql immutable as $$
  select 'evt_' || cell_digits() || substring(md5(task_id || '/' || id) from 4)
$$;

alter table account_events alter column id
  set default 'evt_' || cell_digits() || substring(replace(gen_random_uuid()::text, '-', '') from 4);
