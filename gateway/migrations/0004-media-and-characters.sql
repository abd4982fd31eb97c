-- Stored files, and the characters made from them.

create table media (
  id uuid primary key,
  account_id uuid not null,
  task_id text not null,
  kind text not null check (kind in ('video', 'reference', 'thumbnail', 'spritesheet', 'clip', 'portrait')),
  storage_key text not null,
  content_type text not null,
  size_bytes bigint not null,
  sha256 bytea not null,
  width integer,
  height integer,
  duration_ms integer,
  created_at timestamptz not null default now(),
  -- Null for references, which are removed when their task ends.
  expires_at timestamptz,
  -- When the file was removed. The row stays for as long as its task may exist.
  removed_at timestamptz
);
create index media_by_task on media (task_id);
create index media_by_storage_key on media (storage_key);
create index media_to_remove on media (expires_at) where removed_at is null and expires_at is not null;
create index media_removed on media (created_at) where removed_at is not null;
create index media_references on media (created_at) where kind = 'reference';
-- A variant of a video is made once, on first request.
create unique index media_unique_variant on media (task_id, kind) where kind in ('thumbnail', 'spritesheet');

create table characters (
  id uuid primary key,
  account_id uuid not null references accounts (id),
  username text not null unique check (username ~ '^[a-z0-9_.]{3,32}$'),
  -- The source video and the part of it, so that the same request returns the same character.
  source text not null,
  clip_media_id uuid not null references media (id),
  portrait_media_id uuid not null references media (id),
  is_private boolean not null default false,
  -- Set if the character was made for one task and is removed with it; null for characters of the library.
  task_id text,
  created_at timestamptz not null default now()
);
create unique index characters_unique_source on characters (account_id, source) where task_id is null;
create index characters_by_task on characters (task_id) where task_id is not null;
create index characters_by_account on characters (account_id, created_at desc, id desc);

-- List positions of deleted characters, so that a cursor that names one stays valid.
create table deleted_characters (
  id uuid primary key,
  account_id uuid not null,
  created_at timestamptz not null,
  deleted_at timestamptz not null default now()
);
