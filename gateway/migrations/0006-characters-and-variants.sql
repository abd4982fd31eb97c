-- Characters, and the pictures made of videos.

alter table media drop constraint media_kind_check;
alter table media add constraint media_kind_check
  check (kind in ('video', 'reference', 'thumbnail', 'spritesheet', 'clip', 'portrait'));
-- A variant of a video is made when it is first asked for, and once.
create unique index media_variant_once on media (task_id, kind) where kind in ('thumbnail', 'spritesheet');

create table characters (
  id uuid primary key,
  account_id uuid not null references accounts (id),
  username text not null unique check (username ~ '^[a-z0-9_.]{3,32}$'),
  -- Where it came from and which part of it, so that the same request gives the same character.
  source text not null,
  clip_media_id uuid not null references media (id),
  portrait_media_id uuid not null references media (id),
  is_private boolean not null default false,
  -- Set for one that was made for this task alone and goes when it ends; null for those of the library.
  task_id text,
  created_at timestamptz not null default now()
);
create unique index characters_source_once on characters (account_id, source) where task_id is null;
create index characters_of_task on characters (task_id) where task_id is not null;
create index characters_of_account on characters (account_id, created_at desc, id desc);
