#!/bin/sh
# Creates the database, the owner of its tables, and the user of the hubs. Runs once, in the new container.
set -eu
psql --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" \
  --set owner="$(cat "${SECRETS:-/run/secrets}/owner-password")" \
  --set hub="$(cat "${SECRETS:-/run/secrets}/hub-password")" <<'SQL'
create role squad_owner login password :'owner';
create role squad_hub login password :'hub';
create database squad owner squad_owner encoding 'UTF8' template template0;
SQL
# Without TLS nobody gets in from the network.
sed -i -E 's/^host([[:space:]]+all[[:space:]]+all[[:space:]]+all)/hostssl\1/' "$PGDATA/pg_hba.conf"
