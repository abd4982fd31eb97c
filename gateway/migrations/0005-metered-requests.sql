-- Synchronous requests that are charged by usage: audio and dialogue. The hold and the row are written in one
-- transaction before the provider is called, the outcome and the capture in another one afterwards.

create table metered_requests (
  -- Derived from the id, like the day of a task.
  day date not null,
  id text not null,
  account_id uuid not null,
  key_id uuid not null,
  operation text not null,
  model text not null,
  provider text not null,
  wallet text not null,
  -- Lists of priced quantities: the estimate that was held, and the usage that was charged.
  held_for jsonb not null,
  charged_for jsonb,
  hold_micros bigint not null check (hold_micros >= 0),
  captured_micros bigint check (captured_micros between 0 and hold_micros),
  -- What the request cost at its provider; null if that is not configured.
  cost_micros bigint check (cost_micros >= 0),
  -- abandoned: the lease expired because the serving process died.
  outcome text not null default 'open'
    check (outcome in ('open', 'completed', 'aborted', 'failed', 'abandoned')),
  -- The serving process extends the lease. After it expires, the hold is released.
  lease_expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (day, id),
  check ((outcome = 'open') = (finished_at is null)),
  check ((outcome = 'open') = (captured_micros is null))
) partition by range (day);
create index metered_requests_by_account on metered_requests (account_id, created_at desc, id desc);
create index metered_requests_open on metered_requests (lease_expires_at) where outcome = 'open';
create table metered_requests_default partition of metered_requests default;
