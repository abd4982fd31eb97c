-- no transaction
-- The deletion of a task finds the stored response that describes it.
drop index concurrently if exists idempotency_keys_by_task;
create index concurrently idempotency_keys_by_task on idempotency_keys (task_id) where task_id is not null and body is not null;
