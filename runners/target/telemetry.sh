#!/bin/sh
# Notes counters of this machine and its PostgreSQL server once every $2 seconds in telemetry.log, beside the load.
# Ends with process $1, or when the file telemetry.end is there and its pause is cut short. At most $3 bytes.
# $4: here, if the server runs on this machine. $5: its data directory, where that is known.
# Needs a POSIX shell, awk and stat; psql where telemetry.sql is there.
set -u
umask 077
echo $$ > telemetry.pid
exec awk -v parent="$1" -v step_s="$2" -v most_bytes="$3" -v place="$4" -v folder="$5" -f telemetry.awk
