-- How long tasks were in progress, until their result was stored, by what was ordered. The weight of older ones decays.
create table task_durations (
  provider text not null,
  model text not null,
  -- Length of the video.
  seconds integer not null,
  -- Width times height.
  pixels integer not null,
  -- Tasks that took about 1.06 ^ bucket seconds.
  bucket smallint not null,
  weight double precision not null,
  primary key (provider, model, seconds, pixels, bucket)
) with (fillfactor = 50);
alter table task_durations set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 500, autovacuum_vacuum_cost_delay = 0);
