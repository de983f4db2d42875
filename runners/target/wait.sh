# Returns when the attempt has ended or after $seconds. Only end.lock is waited for, and shared: a waiter never
# stands in the way of a start, nor of another waiter.
enter_work
cd -- "$folder" 2> /dev/null || { echo absent; exit 0; }
[ -e started ] || { echo absent; exit 0; }
if [ -e rc ] || flock -s -w "$seconds" end.lock true; then echo ended; else echo running; fi
