-- Creates the monthly partitions of every partitioned table ahead of time. Every worker calls it. Rows outside of these
-- months go to the default partition, so a missed call loses nothing; a month that already has rows there stays there.
create function ensure_partitions(months_ahead integer default 3) returns void language plpgsql as $$
declare
  parent text;
  month date;
begin
  -- Serializes concurrent calls, which would otherwise create the same partition.
  perform pg_advisory_xact_lock(hashtextextended('kinora:partitions', 0));
  for parent in
    select c.relname from pg_partitioned_table p join pg_class c on c.oid = p.partrelid
     where c.relnamespace = current_schema()::regnamespace order by c.relname
  loop
    for step in 0..months_ahead loop
      month := (date_trunc('month', now() at time zone 'utc') + make_interval(months => step))::date;
      continue when to_regclass(format('%I', parent || to_char(month, '_YYYY_MM'))) is not null;
      begin
        execute format('create table %I partition of %I for values from (%L) to (%L)',
          parent || to_char(month, '_YYYY_MM'), parent, month, (month + interval '1 month')::date);
      exception when check_violation then
        raise warning 'Rows of % are in the default partition of % and stay there.', month, parent;
      end;
    end loop;
  end loop;
end $$;
