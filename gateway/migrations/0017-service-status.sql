-- The status page: how well each kind of model works, now and on each of the last 90 days.

create table service_states (
  -- The kind of the models, such as video.
  kind text primary key,
  state text not null check (state in ('operational', 'degraded', 'down')),
  -- Why it is not operational, for operators.
  reasons jsonb not null,
  -- Since when it has this state, and when it was last judged.
  since timestamptz not null,
  observed_at timestamptz not null
) with (fillfactor = 50);

create table service_days (
  kind text not null,
  day date not null,
  -- How long the kind was judged on this day, and how long it was not operational. The rest of the day is unknown.
  observed_seconds double precision not null,
  degraded_seconds double precision not null,
  down_seconds double precision not null,
  primary key (kind, day)
) with (fillfactor = 50);
