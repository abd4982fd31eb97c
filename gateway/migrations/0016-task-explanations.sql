-- What operators are told about why a task ended as it did.

-- How the work on the task stood when it ended: the stage and the times of its open row, and why its provider was skipped.
alter table video_tasks add column end_state jsonb;
alter table transcription_tasks add column end_state jsonb;

-- Runs that were started again because the engine had lost them.
alter table open_tasks add column lost_runs integer not null default 0;
alter table open_transcriptions add column lost_runs integer not null default 0;

-- When its first run began.
alter table open_transcriptions add column started_at timestamptz;

-- The last failed request: {"provider", "kind", "reason", "at"}.
alter table transcription_segments add column failure jsonb;
