-- Sessions of the web console. A session stands for at most one customer's key and one operator's key, each with the
-- secret that it had at the sign-in.
create table console_sessions (
  id uuid primary key default uuid_v7(),
  -- The keyed hash of the token in the cookie.
  hash bytea not null unique,
  key_id uuid references keys (id) on delete cascade,
  key_hash bytea,
  operator_key_id uuid references keys (id) on delete cascade,
  operator_key_hash bytea,
  created_at timestamptz not null default now(),
  -- Written at most once a minute.
  last_used_at timestamptz not null default now(),
  expires_at timestamptz not null,
  address text not null,
  user_agent text,
  check (key_id is not null or operator_key_id is not null),
  check ((key_id is null) = (key_hash is null) and (operator_key_id is null) = (operator_key_hash is null))
) with (fillfactor = 80);
create index console_sessions_by_key on console_sessions (key_id);
create index console_sessions_by_operator_key on console_sessions (operator_key_id);
create index console_sessions_by_expiry on console_sessions (expires_at);
create index console_sessions_by_creation on console_sessions (created_at, id);

-- Links that sign a browser in once.
create table console_links (
  hash bytea primary key,
  key_id uuid references keys (id) on delete cascade,
  key_hash bytea,
  operator_key_id uuid references keys (id) on delete cascade,
  operator_key_hash bytea,
  expires_at timestamptz not null,
  check (key_id is not null or operator_key_id is not null)
);
create index console_links_by_key on console_links (key_id);
create index console_links_by_operator_key on console_links (operator_key_id);
create index console_links_by_expiry on console_links (expires_at);

-- Every process caches sessions, and ends the event streams of one that ends.
create function notify_session_end() returns trigger language plpgsql as $$
begin
  perform pg_notify('key_changes', 'session:' || encode(old.hash, 'hex'));
  return null;
end $$;
create trigger console_sessions_deleted after delete on console_sessions
  for each row execute function notify_session_end();
