-- Small tables whose rows change all the time. By default PostgreSQL vacuums a table when a fifth of it is dead, and slowly;
-- statements would read the dead rows and index entries until then.
do $$
declare
  hot text;
begin
  foreach hot in array array['open_tasks', 'open_transcriptions', 'tasks_in_flight', 'queue_shares', 'queue_starts', 'ticks',
    'job_durations', 'route_health']
  loop
    execute format('alter table %I set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
      autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0)', hot);
  end loop;
end $$;
