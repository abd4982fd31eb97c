-- Provider and model configuration set at run time, circuit breakers, and inbound webhooks.

-- Overrides of the providers in the configuration file. A removed provider stays until its tasks have ended.
create table provider_configs (
  name text primary key,
  settings jsonb not null,
  -- AES-256-GCM under the newest of CREDENTIAL_SECRETS; null if the provider has no credential.
  credential bytea,
  -- The last characters of the credential, to tell credentials apart.
  credential_hint text,
  removed_at timestamptz,
  updated_at timestamptz not null default now()
);
create trigger provider_configs_changed after insert or update or delete on provider_configs
  for each row execute function notify_instance_change();

-- Overrides of a model's routes in the configuration file.
create table model_configs (
  model text primary key,
  settings jsonb not null,
  updated_at timestamptz not null default now()
);
create trigger model_configs_changed after insert or update or delete on model_configs
  for each row execute function notify_instance_change();

-- Circuit breakers, shared by all processes. A route without a row is healthy.
create table route_health (
  provider text not null,
  model text not null,
  -- The breaker is open until then; afterwards one probe at a time is allowed.
  open_until timestamptz not null,
  -- Consecutive openings. Each one lasts longer.
  openings integer not null default 1,
  reason text not null,
  -- The breaker opened because the provider refused the credential.
  is_unauthorized boolean not null default false,
  -- The current probe must report its result by then.
  probed_until timestamptz not null default 'epoch',
  -- Set when a probe succeeded. The load then increases step by step.
  recovered_at timestamptz,
  primary key (provider, model)
) with (fillfactor = 50);

-- Ids of the webhooks received from providers, to recognize redeliveries.
create table webhook_receipts (
  provider text not null,
  id text not null,
  received_at timestamptz not null default now(),
  primary key (provider, id)
);
create index webhook_receipts_by_received_at on webhook_receipts (received_at);
