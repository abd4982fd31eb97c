-- Downloads of the result that failed, were incomplete or too slow. Retries have fewer permits than first tries.
alter table open_tasks add column failed_downloads integer not null default 0;
