-- The task that a remix is made from. While there is a row here, what the remix needs of it is neither deleted nor
-- removed.
alter table open_tasks add column source_task_id text;
update open_tasks o set source_task_id = t.video_order -> 'remixOf' ->> 'taskId'
  from video_tasks t where t.day = o.day and t.id = o.task_id;
create index open_tasks_of_source on open_tasks (source_task_id) where source_task_id is not null;
