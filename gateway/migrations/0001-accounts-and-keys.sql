-- Accounts, their API keys, and the spending limits of keys.

create table plans (
  id uuid primary key,
  name text not null unique,
  -- The amount that one cycle of a subscription grants.
  cycle_quota_micros bigint not null check (cycle_quota_micros >= 0),
  cycle_days integer not null check (cycle_days > 0),
  created_at timestamptz not null default now()
);

create table accounts (
  id uuid primary key,
  name text not null,
  status text not null default 'active' check (status in ('active', 'suspended')),
  -- 'failed' after a declined top-up. It changes the error message of a low balance and blocks nothing by itself.
  payment_state text not null default 'ok' check (payment_state in ('ok', 'failed')),
  -- The most that the account may spend in a calendar month (UTC), over both of its wallets.
  spend_cap_micros bigint check (spend_cap_micros >= 0),
  -- Null: the instance setting applies.
  concurrency integer check (concurrency > 0),
  media_retention_days integer check (media_retention_days between 1 and 36500),
  task_retention_days integer check (task_retention_days between 1 and 36500),
  created_at timestamptz not null default now()
);
create index accounts_by_created_at on accounts (created_at desc, id desc);

create table subscriptions (
  account_id uuid primary key references accounts (id),
  plan_id uuid references plans (id),
  cycle_started_at timestamptz not null,
  cycle_ends_at timestamptz not null,
  ends_at timestamptz not null,
  -- The end has passed and the rest of the last cycle has been removed from the wallet.
  has_ended boolean not null default false
);
create index subscriptions_due on subscriptions (least(cycle_ends_at, ends_at)) where not has_ended;

create table keys (
  id uuid primary key,
  -- Null for operator keys, which belong to the instance.
  account_id uuid references accounts (id),
  kind text not null check (kind in ('payg', 'subscription', 'admin')),
  -- What an operator key may do. Null for all others.
  role text check (role in ('read', 'support', 'finance', 'admin')),
  name text not null,
  -- A keyed hash. The secret itself is returned once, when the key is created, and never stored.
  hash bytea not null unique,
  -- The last characters of the secret, to tell keys apart in lists.
  hint text not null,
  -- Null allows every model and every address.
  models text[],
  addresses text[],
  expires_at timestamptz,
  disabled_at timestamptz,
  deleted_at timestamptz,
  -- The vocabulary of task states that the key's client expects.
  dialect text not null default 'reference' check (dialect in ('reference', 'openai')),
  -- Requests per minute over all operations. Null: only the limits of each group apply.
  requests_per_minute integer check (requests_per_minute > 0),
  -- Overrides of the instance's limits by group, such as {"create": 600}.
  limits jsonb not null default '{}',
  -- Null: the instance setting applies.
  concurrency integer check (concurrency > 0),
  -- Approximate: written in batches, outside of the request.
  last_used_at timestamptz,
  -- The row holds the previous secret of a rotated key, which gets its own error message after it has expired.
  is_old_secret boolean not null default false,
  created_at timestamptz not null default now(),
  check ((kind = 'admin') = (account_id is null)),
  check ((kind = 'admin') = (role is not null))
);
create index keys_by_account on keys (account_id);
create index keys_by_created_at on keys (created_at desc, id desc);
create index keys_of_operators on keys (created_at desc, id desc) where kind = 'admin';

-- The total that a key may spend. Kept apart from `keys` so that a hold does not rewrite the key's row.
create table key_quotas (
  key_id uuid primary key references keys (id),
  quota_micros bigint not null check (quota_micros >= 0),
  used_micros bigint not null default 0 check (used_micros >= 0),
  -- Earlier holds are not part of `used_micros`, so their release does not reduce it.
  counted_from timestamptz not null default clock_timestamp()
);

-- The amount that a key may spend per period. The first hold of a new period resets the counter.
create table key_budgets (
  key_id uuid not null references keys (id),
  period text not null check (period in ('hour', 'day', 'week', 'month')),
  limit_micros bigint not null check (limit_micros >= 0),
  used_micros bigint not null default 0 check (used_micros >= 0),
  period_started_at timestamptz not null default 'epoch',
  -- Earlier holds are not part of `used_micros`, so their release does not reduce it.
  counted_from timestamptz not null default clock_timestamp(),
  primary key (key_id, period)
) with (fillfactor = 50);

-- Every process caches keys. These triggers invalidate the caches, also when the change was made by hand in SQL.
create function notify_key_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('key_changes', 'key:' || encode(old.hash, 'hex'));
  return null;
end $$;
-- An update of `last_used_at` does not invalidate anything.
create trigger keys_updated after update on keys
  for each row when (new.last_used_at is not distinct from old.last_used_at) execute function notify_key_change();
create trigger keys_deleted after delete on keys
  for each row execute function notify_key_change();

create function notify_account_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('key_changes', 'account:' || old.id);
  return null;
end $$;
create trigger accounts_updated after update on accounts
  for each row execute function notify_account_change();
