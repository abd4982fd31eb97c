-- Attempts are only appended, so a small BRIN index finds those of the last hour. `kinora migrate` creates it on the
-- existing partitions.
create index task_attempts_by_ended_at on only task_attempts using brin (ended_at)
  with (pages_per_range = 32, autosummarize = on);
