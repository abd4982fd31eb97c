-- What the timeline of a task shows.

-- How often its job was polled, and when last. When its first download began.
alter table open_tasks add column polls integer not null default 0;
alter table open_tasks add column polled_at timestamptz;
alter table open_tasks add column storing_at timestamptz;

-- The remixes of a video. `kinora migrate` creates it on the existing partitions.
create index video_tasks_by_source on only video_tasks ((video_order -> 'remixOf' ->> 'taskId')) where video_order ? 'remixOf';
