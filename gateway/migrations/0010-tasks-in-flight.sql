-- How many video tasks are in flight, by owner and model. A dispatcher reads it whenever it starts tasks: to count the tasks
-- themselves would take longer the more of them there are. Triggers keep it, so it is right whichever version writes.

create table tasks_in_flight (
  provider text not null,
  account_id uuid not null,
  key_id uuid not null,
  model text not null,
  tasks bigint not null,
  primary key (provider, account_id, key_id, model)
) with (fillfactor = 50);

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

-- The triggers have locked the table against writes until the end of this transaction.
insert into tasks_in_flight (provider, account_id, key_id, model, tasks)
select provider, account_id, key_id, model, count(*) from open_tasks where stage <> 'accepted'
 group by provider, account_id, key_id, model;
