# Begins to note the counters of the server's machine in observed/$run-$number, once however often it is asked to. The
# collector ends after $most_s seconds, whatever happens. What earlier runs left is removed a day later.
set -e
make_work
find observed -mindepth 1 -maxdepth 1 -type d -mtime +1 -exec rm -rf {} + 2> /dev/null || true
mkdir -p -- "observed/$run-$number"
cd -- "observed/$run-$number"
if (set -C; echo > begun) 2> /dev/null; then
    write_files
    setsid /bin/sh -c '
        sleep "$1" > /dev/null &
        limit=$!
        nice -n "$2" /bin/sh ./telemetry.sh "$limit" "$3" "$4" here "$5"
        kill "$limit"
    ' sh "$most_s" "$niceness" "$step_s" "$most_bytes" "$data" < /dev/null > telemetry.log 2> telemetry.err &
fi
echo begun
