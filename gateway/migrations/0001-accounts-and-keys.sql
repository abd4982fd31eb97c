-- Who calls. Keys are stored as keyed hashes only; the secret is shown once, when it is made.

create table plans (
  id uuid primary key,
  name text not null unique,
  -- What one cycle of a subscription to this plan may spend.
  cycle_quota_micros bigint not null check (cycle_quota_micros >= 0),
  cycle_days integer not null check (cycle_days > 0),
  created_at timestamptz not null default now()
);

create table accounts (
  id uuid primary key,
  name text not null,
  status text not null default 'active' check (status in ('active', 'suspended')),
  -- 'failed' after a declined top-up; it explains a balance that is too low, it does not block by itself.
  payment_state text not null default 'ok' check (payment_state in ('ok', 'failed')),
  created_at timestamptz not null default now()
);

create table subscriptions (
  account_id uuid primary key references accounts (id),
  plan_id uuid references plans (id),
  cycle_started_at timestamptz not null,
  cycle_ends_at timestamptz not null,
  ends_at timestamptz not null
);

create table keys (
  id uuid primary key,
  -- Null for an operator's key, which belongs to the instance and to no customer.
  account_id uuid references accounts (id),
  kind text not null check (kind in ('payg', 'subscription', 'admin')),
  name text not null,
  hash bytea not null unique,
  -- The last characters of the secret, for people to tell keys apart.
  hint text not null,
  -- Null means every model, every address.
  models text[],
  addresses text[],
  expires_at timestamptz,
  disabled_at timestamptz,
  deleted_at timestamptz,
  -- Which words for a task's status this key's client expects.
  dialect text not null default 'reference' check (dialect in ('reference', 'openai')),
  -- Requests per minute over everything the key does; null leaves only the limits of each group.
  requests_per_minute integer check (requests_per_minute > 0),
  -- Overrides of the instance's limits by group, such as {"create": 600}.
  limits jsonb not null default '{}',
  created_at timestamptz not null default now(),
  check ((kind = 'admin') = (account_id is null))
);
create index keys_of_account on keys (account_id);

-- Spending of keys that have a quota, apart from the key so that the key's row stays still.
create table key_quotas (
  key_id uuid primary key references keys (id),
  quota_micros bigint not null check (quota_micros >= 0),
  used_micros bigint not null default 0 check (used_micros >= 0)
);

-- Every process keeps keys in memory for a moment; this tells all of them at once when one changes,
-- whoever changed it.
create function announce_key_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('key_changes', 'key:' || encode(old.hash, 'hex'));
  return null;
end $$;
create trigger keys_changed after update or delete on keys
  for each row execute function announce_key_change();

create function announce_account_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('key_changes', 'account:' || old.id);
  return null;
end $$;
create trigger accounts_changed after update on accounts
  for each row execute function announce_account_change();
