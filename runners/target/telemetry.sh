#!/bin/sh
# Notes counters of this machine and its PostgreSQL server once every $2 seconds in telemetry.log, beside the load.
# Ends with process $1, or when the file telemetry.end is there and its pause is cut short. At most $3 bytes. Its pauses are
# made by one bash where there is one, whose number stands in telemetry.clock, and by a `sleep` each otherwise.
# $4: here, if the server runs on this machine. $5: its data directory, where that is known.
# Needs a POSIX shell, awk and stat; psql where telemetry.sql is there.
set -u
umask 077
echo $$ > telemetry.pid
rm -f telemetry.tick telemetry.wait telemetry.clock
clock=
if command -v bash && mkfifo -m 600 telemetry.tick telemetry.wait; then
    bash ./telemetry.clock.sh "$$" "$2" < /dev/null 7>&- 8>&- 9>&- &
    clock=$!
    echo "$clock" > telemetry.clock
fi > /dev/null 2>&1
exec awk -v clock="$clock" -v parent="$1" -v step_s="$2" -v most_bytes="$3" -v place="$4" -v folder="$5" -f telemetry.awk
