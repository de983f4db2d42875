# Ends the collector of the server's machine and prints what it noted, $most_bytes at most.
cd -- "$work/observed/$run-$number" 2> /dev/null || exit 0
end_telemetry
head -c "$most_bytes" telemetry.log
