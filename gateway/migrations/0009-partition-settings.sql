-- How partitions are stored. A partitioned table cannot have these settings, so its partitions do.

-- Free space in a page: an update that stays in its page needs no new entries in the indexes. It helps tables whose updates
-- leave the indexed columns alone. The end of a metered request does not (`metered_requests_open`), so those pages are full.
-- Autovacuum: by default, a fifth of a partition is dead before it is vacuumed. In a month with millions of rows, that is long
-- after the deleted content should be gone. Entries of the ledger and of usage are never updated or deleted.
create function partition_settings(parent text) returns text language sql immutable as $$
  select concat_ws(', ',
    'fillfactor = ' || case when parent in ('video_tasks', 'transcription_tasks') then 70 else 100 end,
    case when parent not in ('ledger_entries', 'usage_entries') then
      'autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, '
      'autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500'
    end)
$$;

create or replace function ensure_partitions(months_ahead integer default 3) returns void language plpgsql as $$
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
        execute format('create table %I partition of %I for values from (%L) to (%L) with (%s)',
          parent || to_char(month, '_YYYY_MM'), parent, month, (month + interval '1 month')::date,
          partition_settings(parent));
      exception when check_violation then
        raise warning 'Rows of % are in the default partition of % and stay there.', month, parent;
      end;
    end loop;
  end loop;
end $$;

do $$
declare
  each record;
begin
  for each in
    select i.inhrelid::regclass as child, p.relname as parent
      from pg_inherits i join pg_class p on p.oid = i.inhparent
     where p.relkind = 'p' and p.relnamespace = current_schema()::regnamespace
  loop
    execute format('alter table %s set (%s)', each.child, partition_settings(each.parent));
  end loop;
end $$;
