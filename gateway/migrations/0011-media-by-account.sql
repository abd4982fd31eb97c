-- no transaction
-- The erasure of an account finds its files without reading those of all others.
drop index concurrently if exists media_by_account;
create index concurrently media_by_account on media (account_id);
