# Puts up the tombstone, which tells whether a person wants it or BenchHub alone ($withdrawn), then ends what runs of
# the attempt: TERM, $grace seconds, KILL. The wrapper is spared for $summing_up seconds, in which it writes down how the
# command ended; one that was stopped, or still sums up what nobody wants any more, would keep the host. A wrapper that
# was killed leaves a heart, which is ended with it. May be repeated at any time. processes.sh stands before it.
make_work
mkdir -p -- "$folder" && cd -- "$folder" || exit 1

# By true, as a special builtin that cannot write would end this shell.
put_up_tombstone() {
    if [ -z "$withdrawn" ]; then rm -f withdrawn; elif [ ! -e cancel ]; then true > withdrawn || return; fi
    [ -e cancel ] || true > cancel
}

# A start that is under way is over when this lock is ours; a later one sees the tombstone. What has begun is ended also
# where nothing can be written any more: it cannot begin again.
if { true >> start.lock; } 2> /dev/null; then exec 6>> start.lock; else exec 6< start.lock; fi
flock -w 30 6 || exit 6
put_up_tombstone || [ -e started ] || exit 1
exec 6>&-
forget_password() { rm -f .pgpass || true; }

# Its files are gone: what it has running is found by its lock, and by where the rest of a session works.
share_lock() {
    [ -e /proc/self/fd/4 ] || return 0
    for process in /proc/[0-9]*; do
        [ "$process/fd/8" -ef /proc/self/fd/4 ] && printf '%s ' "${process#/proc/}"
    done
}
end_strays() {
    cd / && exec 4>&-
    note_sessions
    for process in $(strays); do
        if [ -e "/proc/$process/fd/8" ]; then exec 4< "/proc/$process/fd/8" && break; fi
    done
    tries=0 signal=TERM
    left="$(strays)$(share_lock)"
    while [ -n "$left" ] && [ "$tries" -lt "$((grace * 10 + 50))" ]; do
        if [ "$tries" -ge "$((grace * 10))" ]; then signal=KILL; fi
        if [ "$tries" -eq 0 ] || [ "$signal" = KILL ]; then kill -s "$signal" $left 2>&-; fi
        sleep 0.1
        tries=$((tries + 1))
        note_sessions
        left="$(strays)$(share_lock)"
    done
    refuse_to_end
}
refuse_to_end() {
    [ -n "$left" ] || return 0
    echo "these processes of the attempt do not end: $left" >&2
    exit 7
}
if [ ! -e started ]; then
    enter_elsewhere || { end_strays; exit 0; }
    put_up_tombstone || true
fi
read -r boot < started || boot=
read -r boot_now < /proc/sys/kernel/random/boot_id
if [ "$boot" != "$boot_now" ]; then forget_password; exit 0; fi

identify

# While its leader's number belongs to no other process, a session of that number is the command's.
is_session_ours() {
    [ "$command" != 0 ] && { [ ! -e "/proc/$command" ] || is_leader_there; }
}
is_leader_there() {
    { read -r stat < "/proc/$command/stat"; } 2> /dev/null || return 1
    set -- ${stat##*) }
    [ "${20}" = "$command_start" ]
}

# Everything in the command's session, and whatever left it but still has the attempt's lock open.
survivors() {
    session=none
    if is_session_ours; then session=$command; fi
    for process in /proc/[0-9]*; do
        { read -r stat < "$process/stat"; } 2> /dev/null || continue
        set -- ${stat##*) }
        case $1.$4.${process#/proc/} in
            Z.*) continue ;;
            *."$wrapper.$session") ;;  # the command, until it leads a session of its own
            *."$wrapper".*) continue ;;
        esac
        if [ "$4" = "$session" ] || [ "$process/fd/8" -ef lock ]; then printf '%s ' "${process#/proc/}"; fi
    done
}

# Signal $1 to the survivors until none is left, for at most $2 tenths of a second.
end_survivors() {
    tries=0
    left=$(survivors)
    if [ -n "$left" ] && is_session_ours; then kill -s "$1" -- "-$command" 2> /dev/null; fi
    kill -s "$1" $left 2> /dev/null
    while [ -n "$left" ] && [ "$tries" -lt "$2" ]; do
        sleep 0.1
        tries=$((tries + 1))
        left=$(survivors)
        [ "$1" != KILL ] || kill -s KILL $left 2> /dev/null
    done
}
end_survivors TERM "$((grace * 10))"
[ -z "$left" ] || end_survivors KILL 50
refuse_to_end

end_wrapper() {
    tries=0
    left=$(of_wrapper)
    while [ -n "$left" ] && [ "$tries" -lt 50 ]; do
        kill -s KILL $left 2> /dev/null
        sleep 0.1
        tries=$((tries + 1))
        left=$(of_wrapper)
    done
    refuse_to_end
}

tries=0
while [ ! -e rc ] && [ "$tries" -lt "$((summing_up * 10))" ] && is_process "$wrapper" "$wrapper_start"; do
    sleep 0.1
    tries=$((tries + 1))
done
if [ ! -e rc ]; then
    end_wrapper
    log=leftover.log
    { true > "$log"; } 2> /dev/null || log=/dev/null
    timeout -k 1 20 /bin/sh ./leftover.sh > "$log" 2>&1
fi
forget_password
