#!/bin/sh
# Runs in the PostgreSQL container when its volume is created. The service connects as `kinora`, which owns its database,
# because workers create and drop partitions, but is no superuser. Without a password, the superuser can only connect
# inside the container: docker compose exec postgres psql --username=postgres
set -eu
psql --username="$POSTGRES_USER" --dbname=postgres --no-psqlrc --quiet --set=ON_ERROR_STOP=1 \
  --set=password="$POSTGRES_PASSWORD" <<'SQL'
create role kinora login nosuperuser nocreatedb nocreaterole noreplication password :'password';
create database kinora owner kinora;
revoke all on database kinora from public;
alter role current_user password null;
SQL
