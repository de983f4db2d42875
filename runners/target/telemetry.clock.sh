# Wakes the collector $1 every $2 seconds, which waits for a writer at telemetry.tick. For a shell whose `read` has a limit
# of time, as bash's: a `sleep` for each pause would take as much CPU time as all that the collector reads. It waits for
# nobody, as what opens a pipe for both ways does, and ends after the collector, which works in this folder: also where
# nobody reaps that, or its number is another's by then. Nobody writes into telemetry.wait.
exec 3<> telemetry.wait && rm -f telemetry.wait
while [ "/proc/$1/cwd" -ef . ]; do
    read -r -t "$2" nothing <&3
    [ $? -gt 128 ] || sleep "$2"
    echo 1<> telemetry.tick
done
