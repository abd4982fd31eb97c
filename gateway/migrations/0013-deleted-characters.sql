-- Where deleted characters were in the list, so that a page can go on after them.
create table deleted_characters (
  id uuid primary key,
  account_id uuid not null,
  created_at timestamptz not null,
  deleted_at timestamptz not null default now()
);
