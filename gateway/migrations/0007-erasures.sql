-- Erasures of accounts. The row of an account stays without its name, because the ledger refers to its id.

alter table accounts add column erased_at timestamptz;

create table erasures (
  account_id uuid primary key,
  requested_at timestamptz not null,
  -- Null if it was found in the erasure list without it.
  operator_key_id uuid,
  -- Deleted and emptied rows by table, and the files and jobs whose removal was requested. Written with each deletion.
  counts jsonb not null default '{}',
  -- When nothing was left for the first time. Requests that were in progress may add rows for some minutes.
  emptied_at timestamptz,
  finished_at timestamptz,
  certificate jsonb,
  check ((finished_at is null) = (certificate is null))
);
create index erasures_unfinished on erasures (requested_at) where finished_at is null;
