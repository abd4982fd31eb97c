-- Events are counted per task, so that the number of an event says nothing about other tasks.
alter table video_tasks add column last_event integer not null default 0;
alter table task_events alter column id drop identity;
update task_events e set id = numbered.place - 1000000000
  from (select day, task_id, id, row_number() over (partition by day, task_id order by id) as place
          from task_events) numbered
 where e.day = numbered.day and e.task_id = numbered.task_id and e.id = numbered.id;
update task_events set id = id + 1000000000;
update video_tasks t set last_event = counted.events
  from (select day, task_id, count(*) as events from task_events group by day, task_id) counted
 where t.day = counted.day and t.id = counted.task_id;
