-- Balances, ledger, and prices. Amounts are integer micro-units of the instance's currency.

create table balances (
  account_id uuid not null references accounts (id),
  -- Pay-as-you-go keys spend from 'payg', subscription keys from the quota that each cycle grants.
  wallet text not null check (wallet in ('payg', 'subscription')),
  available_micros bigint not null default 0 check (available_micros >= 0),
  held_micros bigint not null default 0 check (held_micros >= 0),
  -- Holds minus releases of the month that began on `spent_since`. The first hold of a new month resets both.
  spent_micros bigint not null default 0 check (spent_micros >= 0),
  spent_since date not null default 'epoch',
  -- When the current cycle's quota was granted. The release of an earlier hold does not return to the wallet.
  opened_at timestamptz,
  primary key (account_id, wallet)
) with (fillfactor = 50);

-- A movement consists of two entries that sum to zero; a balance is the running sum of its entries.
create table ledger_entries (
  -- The creation day of the task, so that all entries of a task share a partition and can be unique in it.
  -- For movements without a task, the day of the movement.
  day date not null,
  id bigint generated always as identity,
  account_id uuid not null,
  wallet text not null,
  -- The id of a task, a metered request, or an account movement.
  task_id text,
  -- The key whose limits a hold counts against; null for movements without a key.
  key_id uuid,
  movement text not null
    check (movement in ('top_up', 'grant', 'adjustment', 'expiry', 'hold', 'capture', 'release')),
  book text not null check (book in ('funding', 'available', 'held', 'revenue')),
  amount_micros bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (day, id)
) partition by range (day);
-- A task is held, captured, and released at most once each, even if a step runs twice.
create unique index ledger_entries_unique_movement on ledger_entries (day, task_id, movement, book);
create index ledger_entries_by_account on ledger_entries (account_id, day, id);
-- Entries are only appended, so a small BRIN index finds recent ones.
create index ledger_entries_by_created_at on ledger_entries using brin (created_at)
  with (pages_per_range = 32, autosummarize = on);
-- These movements are rare. The frequent ones are found by scanning from the newest entry.
create index ledger_entries_without_task on ledger_entries (movement, day, id)
  where movement in ('top_up', 'grant', 'adjustment', 'expiry');
create table ledger_entries_default partition of ledger_entries default;

-- Movements without a task. The id is the `task_id` of the ledger entries.
create table account_movements (
  id text primary key,
  account_id uuid not null references accounts (id),
  wallet text not null check (wallet in ('payg', 'subscription')),
  kind text not null check (kind in ('top_up', 'grant', 'adjustment', 'expiry')),
  -- Negative for a debit.
  amount_micros bigint not null,
  actor text not null,
  reason text not null,
  reference text,
  created_at timestamptz not null default now(),
  unique (account_id, kind, reference)
);
create index account_movements_by_account on account_movements (account_id, created_at desc, id desc);

-- Every process caches prices and settings. The payload is the name of the changed table.
create function notify_instance_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('instance_changes', tg_table_name);
  return null;
end $$;

-- Prices set at run time. The newest one that has started applies; without one, the price of the catalog.
create table prices (
  id uuid primary key,
  model text not null,
  unit text not null,
  -- The conditions of the price; null applies to every request.
  resolution text,
  sound boolean,
  input text,
  unit_micros bigint not null check (unit_micros >= 0),
  version integer not null,
  starts_at timestamptz not null,
  actor text not null,
  created_at timestamptz not null default now(),
  unique nulls not distinct (model, unit, resolution, sound, input, version)
);
create trigger prices_changed after insert on prices
  for each statement execute function notify_instance_change();

-- The result of the last ledger audit. Findings of the last full audit stay until the next full audit.
create table ledger_audits (
  singleton boolean primary key default true check (singleton),
  checked_at timestamptz not null,
  duration_ms integer not null,
  findings jsonb not null,
  full_audit_at timestamptz not null,
  full_audit_findings jsonb not null
);

-- The sums of a wallet's entries up to `entry_id`, so that an audit adds up only the later ones.
create table ledger_checkpoints (
  account_id uuid not null,
  wallet text not null,
  entry_id bigint not null,
  available_micros bigint not null,
  held_micros bigint not null,
  primary key (account_id, wallet)
);
