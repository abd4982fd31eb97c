-- The trace of the request that created the task, as a W3C traceparent; null if it was not traced. Every process that works on the
-- task continues this trace, also after another one was killed.
alter table open_tasks add column trace_context text;
