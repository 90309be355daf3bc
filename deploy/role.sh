#!/bin/sh
# The role and the database of memory-mcp: no superuser, so that row-level security holds it.
set -eu
psql --username postgres --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" <<'SQL'
CREATE ROLE memory LOGIN PASSWORD :'password';
CREATE DATABASE memory OWNER memory;
SQL
