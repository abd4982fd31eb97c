-- Monthly partitions, made ahead of time by every worker. Rows outside of them go to the default partition,
-- so a missed run loses nothing; a month that already has rows there stays there. Old months are detached
-- whole, never deleted row by row.

create function ensure_partitions(months_ahead integer default 3) returns void language plpgsql as $$
declare
  parent text;
  month date;
begin
  -- Two processes starting at once would otherwise both try to make the same partition.
  perform pg_advisory_xact_lock(hashtextextended('kinora:partitions', 0));
  foreach parent in array array['video_tasks', 'task_events', 'ledger_entries'] loop
    for step in 0..months_ahead loop
      month := (date_trunc('month', now() at time zone 'utc') + make_interval(months => step))::date;
      continue when to_regclass(format('%I', parent || to_char(month, '_YYYY_MM'))) is not null;
      begin
        execute format('create table %I partition of %I for values from (%L) to (%L)',
          parent || to_char(month, '_YYYY_MM'), parent, month, (month + interval '1 month')::date);
      exception when check_violation then
        raise warning 'rows of % are in the default partition of % and stay there', month, parent;
      end;
    end loop;
  end loop;
end $$;
