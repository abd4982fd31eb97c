-- What providers with a budget have cost today, as counted from usage entries and open tasks.
create table provider_spend (
  provider text primary key,
  -- The UTC day of the figures.
  day date not null,
  -- What tasks and requests that ended on this day have cost.
  spent_micros bigint not null default 0,
  -- The part of it that ended before `settled_until`. An entry is visible soon after its time, so older ones are not read again.
  settled_micros bigint not null default 0,
  settled_until timestamptz not null,
  -- What jobs in flight cost.
  committed_micros bigint not null default 0,
  -- Whether no new work goes to the provider.
  is_stopped boolean not null default false,
  -- The highest amounts that the log has warned about on this day.
  alerted_micros bigint,
  exhausted_micros bigint,
  counted_at timestamptz not null default 'epoch',
  -- When a process began to count.
  claimed_at timestamptz not null default 'epoch'
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0
);
