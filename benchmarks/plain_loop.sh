#!/bin/sh
# The peer: what people write by hand. One ssh per run over one kept master connection, output to files.
# OPTIONS (environment) are further words for pgbench; a log of transactions is thrown away on the host.
# usage: plain_loop.sh FOLDER PORT KEY KNOWN_HOSTS USER@HOST BIN_DIRECTORY PGPORT DATABASE USERNAME DURATION_S LEVEL...
# PGPASSWORD is read from the environment and passed on standard input, as a careful person would.
set -eu
folder=$1 port=$2 key=$3 known=$4 host=$5 bin=$6 pgport=$7 database=$8 username=$9
shift 9
duration=$1
shift
for clients; do
    printf '%s\n' "$PGPASSWORD" | ssh -p "$port" -i "$key" -o UserKnownHostsFile="$known" -o StrictHostKeyChecking=yes \
        -o BatchMode=yes -o ControlMaster=auto -o ControlPath="$folder/master" -o ControlPersist=60 "$host" \
        "read -r PGPASSWORD; export PGPASSWORD; cd \$(mktemp -d); trap 'rm -rf \$PWD' EXIT; \
        $bin/pgbench -n -S ${OPTIONS:-} -c $clients -j $clients -T $duration \
        -h 127.0.0.1 -p $pgport -U $username $database" > "$folder/$clients.out" 2> "$folder/$clients.err"
done
