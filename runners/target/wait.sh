# Returns when the attempt has ended or after $seconds. Only end.lock is waited for, and shared: a waiter never
# stands in the way of a start, nor of another waiter. Every $every seconds until then it says that the lock is held,
# how long the files are that tell of progress, and for how many seconds the command has run.
cd -- "$folder" 2> /dev/null || { echo absent; exit 0; }
[ -e started ] || { echo absent; exit 0; }
age_s() { read -r begin < hb && read -r uptime _ < /proc/uptime && echo $((${uptime%.*} - ${begin%.*})); }
while [ ! -e rc ]; do
    if [ "$every" -gt "$seconds" ]; then every=$seconds; fi
    flock -s -w "$every" -E 75 end.lock true
    case $? in 0) break ;; 75) ;; *) exit 1 ;; esac
    seconds=$((seconds - every))
    if [ "$seconds" -le 0 ]; then echo running; exit 0; fi
    echo held $(stat -c %s -- err.log out.log step 2> /dev/null) $(age_s 2> /dev/null)
done
echo ended
