-- Money, in integer micro-units. A movement is two legs that sum to zero; balances are their running sums.

create table balances (
  account_id uuid not null references accounts (id),
  -- Pay-as-you-go keys spend from one wallet, subscription keys from the quota granted each cycle.
  wallet text not null check (wallet in ('payg', 'subscription')),
  available_micros bigint not null default 0 check (available_micros >= 0),
  held_micros bigint not null default 0 check (held_micros >= 0),
  primary key (account_id, wallet)
) with (fillfactor = 50);

create table ledger_entries (
  -- The creation day of the task the movement is about, so that a task's movements share a partition
  -- and can be unique in it; for movements without a task, the day they were made.
  day date not null,
  id bigint generated always as identity,
  account_id uuid not null,
  wallet text not null,
  task_id text,
  movement text not null check (movement in ('top_up', 'grant', 'adjustment', 'hold', 'capture', 'release')),
  book text not null check (book in ('funding', 'available', 'held', 'revenue')),
  amount_micros bigint not null,
  created_at timestamptz not null default now(),
  primary key (day, id)
) partition by range (day);
-- A task is held, captured and released at most once each, whatever runs twice.
create unique index ledger_entries_once on ledger_entries (day, task_id, movement, book);
create index ledger_entries_of_account on ledger_entries (account_id, day, id);
create table ledger_entries_default partition of ledger_entries default;
