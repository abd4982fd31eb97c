-- What keeps tables from growing forever.

-- The instance's retention of results and tasks, as it was last applied to existing results. A role that starts with other
-- settings changes it.
create table applied_retention (
  singleton boolean primary key default true check (singleton),
  media_days integer not null,
  task_days integer not null,
  changed_at timestamptz not null,
  -- All results have been aligned with it.
  is_done boolean not null default false
);

-- Accounts whose own retention changed and has not been applied to their existing results.
create table retention_changes (
  account_id uuid primary key,
  changed_at timestamptz not null
);

create function note_retention_change() returns trigger language plpgsql as $$
begin
  insert into retention_changes (account_id, changed_at) values (new.id, now())
  on conflict (account_id) do update set changed_at = now();
  return null;
end $$;
create trigger accounts_retention_changed after update of media_retention_days, task_retention_days on accounts
  for each row when (old.media_retention_days is distinct from new.media_retention_days
                     or old.task_retention_days is distinct from new.task_retention_days)
  execute function note_retention_change();

-- A video task is updated when it starts and when it ends. With free space in its page an update needs no new entries in
-- the indexes. A partitioned table cannot have the setting, so its partitions do.
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
        execute format('create table %I partition of %I for values from (%L) to (%L) with (fillfactor = %s)',
          parent || to_char(month, '_YYYY_MM'), parent, month, (month + interval '1 month')::date,
          case parent when 'video_tasks' then 70 else 100 end);
      exception when check_violation then
        raise warning 'Rows of % are in the default partition of % and stay there.', month, parent;
      end;
    end loop;
  end loop;
end $$;

do $$
declare
  partition regclass;
begin
  for partition in select inhrelid::regclass from pg_inherits where inhparent = 'video_tasks'::regclass loop
    execute format('alter table %s set (fillfactor = 70)', partition);
  end loop;
end $$;

-- Archives of closed years. The files are outside of the database; these rows say what they contained.

create table ledger_archives (
  -- Everything of earlier days is in this archive or in one before it.
  before date primary key,
  archived_at timestamptz not null default now(),
  -- The SHA-256 of the archive's manifest, which contains those of its files.
  manifest_sha256 text not null,
  -- The archived ledger entries, and what they sum up to.
  entries bigint not null,
  available_micros bigint not null,
  held_micros bigint not null
);

-- The opening balance of a wallet: the sums of its archived entries up to `entry_id`.
create table opening_balances (
  account_id uuid not null,
  wallet text not null,
  entry_id bigint not null,
  available_micros bigint not null,
  held_micros bigint not null,
  primary key (account_id, wallet)
);

-- What archived holds have used of a key's quota. It counts for as long as the quota counts from the same time.
create table opening_key_usage (
  key_id uuid primary key,
  counted_from timestamptz not null,
  used_micros bigint not null
);
