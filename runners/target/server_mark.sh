# Before an attempt that changes nothing of a server begins: 75 where another BenchHub, or another work directory, has
# changed its settings, 1 where it does not tell. Set before: server_bin, and the functions server_connection and
# server_sql_holder.
server_connection
[ ! -e .pgpass ] || { PGPASSFILE=$(pwd)/.pgpass; export PGPASSFILE; }
holder=$(server_sql_holder | timeout -k 1 5 "$server_bin/psql" -X -q -A -t -w -v ON_ERROR_STOP=1 -f -) || exit 1
[ -z "$holder" ] || exit 75
