-- Recordings for which a provider reported another duration than the one that was measured and charged.

create table duration_mismatches (
  provider text primary key,
  mismatches bigint not null,
  last_at timestamptz not null
) with (fillfactor = 50);
