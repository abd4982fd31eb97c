-- Only video tasks have updates that free space in a page keeps out of the indexes. The end of a transcription task changes
-- indexed columns, and the rest of its updates find space without a reserve.
create or replace function partition_settings(parent text) returns text language sql immutable as $$
  select concat_ws(', ',
    'fillfactor = ' || case parent when 'video_tasks' then 70 else 100 end,
    case when parent not in ('ledger_entries', 'usage_entries') then
      'autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, '
      'autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500'
    end)
$$;

do $$
declare
  partition regclass;
begin
  for partition in select inhrelid::regclass from pg_inherits where inhparent = 'transcription_tasks'::regclass loop
    execute format('alter table %s set (fillfactor = 100)', partition);
  end loop;
end $$;
