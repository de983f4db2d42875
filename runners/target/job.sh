#!/bin/sh
# Runs command.sh of the attempt in folder $1 and writes down how it ended. After $2 seconds (0: never), or once it has
# printed more than $4 bytes or half of what was free, it ends the command: TERM, up to $3 seconds, KILL. Needs nobody
# who looks on. What it left is kept for $5 days. Started by start.sh as the leader of a session of its own, with the locks on descriptors 7 (end.lock), 8
# (lock) and 9 (host.lock); see there.
# Needs a POSIX shell, coreutils and util-linux. A PostgreSQL server started from here would hold the locks for
# ever: start it with 8>&- 9>&-
set -u
umask 077
unset QUOTING_STYLE POSIXLY_CORRECT
cd -- "$1" || exit 1
read -r boot < /proc/sys/kernel/random/boot_id

# Clock ticks since boot at which process $1 started: with its number and the boot, its identity.
start_time() {
    read -r stat < "/proc/$1/stat" || return
    set -- ${stat##*) }
    echo "${20}"
}

# Uptime, because the clock of a target may jump. It shares a CPU with the load: two processes are started for each
# beat, and no other. The command is ended at its deadline, where it prints without end, and where nobody could collect
# what it leaves: an orphan.
heartbeat() {
    pause=
    trap 'kill $pause; exit' TERM
    while is_wrapper_there && ! is_folder_gone; do
        read -r uptime _ < /proc/uptime
        left=$((begin + deadline_s - ${uptime%.*}))
        if [ "$deadline_s" -eq 0 ] || [ "$left" -gt 15 ]; then left=15; fi
        count_printed
        if [ "$printed" -gt "$most_bytes" ]; then end_as overflow "$printed"; return; fi
        if [ "$left" -le 0 ]; then end_as overdue "$deadline_s"; return; fi
        sleep "$left" &
        pause=$!
        wait "$pause"
        read -r uptime _ < /proc/uptime
        { echo "$uptime" >> hb; } 2> /dev/null
    done
    end_orphan
}

# A server may send messages without end, and whoever drives it writes them down: in the logs, or in a tool's own *.err.
# What they take of the disk counts, in blocks of 512 bytes; a file may be longer than that.
count_printed() {
    printed=0
    for blocks in $(stat -c %b -- out.log *.err err.log 2> /dev/null); do printed=$((printed + blocks * 512)); done
}

# A wrapper that was killed leaves its heart to another parent.
is_wrapper_there() {
    read -r stat < /proc/self/stat || return
    set -- ${stat##*) }
    [ "$2" -eq $$ ]
}

# A file system that does not answer for a while hides 'started' as well, and spoils no load: only the kernel's word that
# the folder was deleted, or the lock's file (descriptor 5) with what else it held, tells that they are gone.
is_folder_gone() { [ ! -e started ] && { is_deleted cwd || is_deleted fd/5; }; }
is_deleted() { case $(readlink "/proc/self/$1") in *' (deleted)') ;; *) return 1 ;; esac; }

# A process that was stopped does nothing either.
is_awake() {
    { read -r stat < "/proc/$1/stat"; } 2> /dev/null || return
    set -- "$2" ${stat##*) }
    [ "${21}" = "$1" ] && case $2 in [ZTt]) return 1 ;; esac
}

is_command_there() { [ "$(start_time "$command" 2> /dev/null)" = "$command_start" ]; }

# The file $1 ('overdue' or 'overflow') comes first: it is what the run fails by. Its place in the folder and its space
# were taken at the start.
end_as() {
    is_command_there || return
    echo "$2" 1<> ended.new
    mv ended.new "$1"
    end_command
}

# A command that has just ended is left alone, and so is whatever has its number since.
end_command() {
    is_command_there || return
    kill -s TERM -- "-$command"
    tries=0
    while kill -0 -- "-$command" 2> /dev/null && [ "$tries" -lt "$((grace_s * 10))" ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -s KILL -- "-$command" 2> /dev/null
}

# Nobody else would do it. The next attempt of the run calls its sessions on the server by the same name, and may have
# begun already: leftovers are ended only while the host's lock is ours (descriptor 6). A wrapper that still ends there
# does not stop this.
end_orphan() {
    trap : TERM
    end_command
    end_escaped
    if [ -e leftover.sh ] && flock -w 5 6 6<&6; then end_leftovers 5<&- 6<&-; fi
}

# What left the command's session but still has the lock open would keep the host. Descriptor 5 is the lock's file, which
# may be deleted by now; whoever only has the file open does not hold the lock.
end_escaped() {
    for process in /proc/[0-9]*; do
        [ "${process#/proc/}" != $$ ] && [ "$process/fd/8" -ef /proc/self/fd/5 ] || continue
        kill -s KILL "${process#/proc/}"
    done
}

end_leftovers() {
    log=leftover.log
    { true > "$log"; } 2> /dev/null || log=/dev/null
    timeout -k 1 20 /bin/sh ./leftover.sh > "$log" 2>&1
}

# One line per file, out.log and err.log first, then from small to large.
manifest() {
    set -- $(stat -f -c '%a %S' .)
    printf '{"version": 1, "returncode": %s, "boot_id": "%s", "free_bytes": %s, "files": [' \
        "$returncode" "$boot" "$(($1 * $2))"
    comma=
    for name in out.log err.log $(ls -Sr); do
        is_output "$name" || continue
        set -- $(sha256sum -- "$name")
        printf '%s\n{"name": "%s", "bytes": %s, "sha256": "%s"}' "$comma" "$name" "$(stat -c %s -- "$name")" "$1"
        comma=,
        case $name in out.log | err.log) listed="$listed $name" ;; esac
    done
    printf '\n]}\n'
}

# What was moved is found by a process that works in it, wherever it is: one stays, without the locks, until the warehouse
# has what it wants, the files are gone, or nobody keeps them any longer.
bear_witness() {
    pause=
    trap 'kill $pause; exit' TERM
    minutes=0
    while [ ! -e ack ] && ! is_folder_gone && [ "$minutes" -lt "$1" ]; do
        sleep 60 &
        pause=$!
        wait "$pause"
        minutes=$((minutes + 1))
    done
}

listed=
is_output() {
    case " $listed " in *" $1 "*) return 1 ;; esac
    case $1 in
        *[!A-Za-z0-9._-]* | *.lock | *.new | lock | leftover.sh) return 1 ;;
        started | pid | hb | rc | cancel | withdrawn | ack | witness) return 1 ;;
        telemetry.awk | telemetry.sh | telemetry.clock.sh | telemetry.sql | telemetry.psql.sh | telemetry.meminfo | \
            telemetry.vmstat) return 1 ;;
    esac
    [ -f "$1" ]
}

was_ended() { [ -e overdue ] || [ -e overflow ]; }

# Half of what is free is left to others: a database may be on the same disk. Some file systems say that nothing is.
limit_printing() {
    most_bytes=$1
    set -- $(stat -f -c '%a %S' .)
    [ $# -eq 2 ] && half=$(($1 * $2 / 2)) && [ "$half" -gt 0 ] && [ "$half" -lt "$most_bytes" ] && most_bytes=$half
}

deadline_s=$2 grace_s=$3
limit_printing "$4"
read -r uptime _ < /proc/uptime
begin=${uptime%.*}
wrapper_start=$(start_time $$)
# Space for the last files is taken now: at the end the disk may be full. Blanks may follow JSON and a number.
printf '%16s' '' > ended.new
printf '%16s' '' > rc.new
printf '%65536s' '' > manifest.new

# A handler, not '': an ignored signal would be ignored by the children too.
trap : TERM INT HUP
setsid /bin/sh ./command.sh > out.log 2> err.log < /dev/null 7>&- 8>&8 9>&9 &
command=$!
command_start=$(start_time "$command")
echo "$boot $$ $wrapper_start $command $command_start" > pid
echo "$uptime" > hb
# By exec: a shell that closes descriptors for a function alone keeps copies of them, and with them the locks. The files
# of the locks are opened once more by their descriptors, as they may be deleted by now.
(exec 5< /proc/self/fd/8 6< /proc/self/fd/9 7>&- 8>&- 9>&-; heartbeat) &
heart=$!
heart_start=$(start_time "$heart")
wait "$command"
returncode=$?
while [ "$returncode" -gt 128 ] && kill -0 "$command" 2> /dev/null; do
    wait "$command"
    returncode=$?
done
# What ignores TERM has to be gone before this is written down as the end. Who cancels sees to that too, and may have to
# because the heart does not.
if was_ended && [ ! -e cancel ]; then
    wait "$heart"
elif ! is_awake "$heart" "$heart_start"; then
    { true > unguarded; } 2> /dev/null
fi

if [ "$returncode" -gt 128 ] || [ -e cancel ]; then
    end_leftovers
fi
rm -f .pgpass
manifest 1<> manifest.new
mv manifest.new manifest.json
echo "$returncode" 1<> rc.new
(exec 5< /proc/self/fd/8 7>&- 8>&- 9>&-; bear_witness "$(($5 * 1440))") &
witness=$!
{ echo "$witness" > witness; } 2> /dev/null
# Where the end cannot be written there is nothing to lead to, and who repairs the file system has to unmount it.
mv rc.new rc || kill "$witness"
if [ "$(start_time "$heart" 2> /dev/null)" = "$heart_start" ]; then kill "$heart" && kill -s CONT "$heart"; fi
