-- safe: keys are few, and are created and changed by hand
-- What a customer's key may do. Without effect for operator keys, which have a role.
alter table keys add column scopes text[] not null default '{create,read}';
alter table keys add constraint keys_scopes_check
  check (scopes <@ array['create', 'read', 'account'] and cardinality(scopes) > 0);

-- The secret before the last rotation, which remains valid until the end of the overlap.
alter table keys add column previous_hash bytea;
alter table keys add column previous_expires_at timestamptz;
create unique index keys_by_previous_hash on keys (previous_hash);
create or replace function notify_key_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('key_changes', 'key:' || encode(old.hash, 'hex'));
  if old.previous_hash is not null then
    perform pg_notify('key_changes', 'key:' || encode(old.previous_hash, 'hex'));
  end if;
  return null;
end $$;
