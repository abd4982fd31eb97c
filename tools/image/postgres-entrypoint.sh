#!/bin/sh
# Does what the official image of PostgreSQL does with these variables, as far as compose.yaml uses it.
set -eu
bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/postgres)")
data=/var/lib/postgresql/data
if [ "$(id -u)" = 0 ]; then
  chown postgres:postgres "$data"
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0"
fi
if [ ! -e "$data/PG_VERSION" ]; then
  password=$(mktemp)
  printf '%s' "$POSTGRES_PASSWORD" >"$password"
  "$bin/initdb" --username="$POSTGRES_USER" --pwfile="$password" --auth-host=scram-sha-256 --auth-local=trust "$data" >/dev/null
  rm "$password"
  echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
  "$bin/pg_ctl" --pgdata="$data" --options="-c listen_addresses='' -k /tmp" --wait start >/dev/null
  for script in /docker-entrypoint-initdb.d/*.sh; do PGHOST=/tmp sh "$script"; done
  "$bin/pg_ctl" --pgdata="$data" --mode=fast --wait stop >/dev/null
fi
exec "$bin/postgres" -D "$data" -c listen_addresses='*' -k /tmp
