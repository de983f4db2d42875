# A cluster of BenchHub's own in $cluster: made once, started, stopped and removed. Nothing of it is touched unless its
# folder carries the mark $cluster_mark, which was written when the folder was made. Set before: cluster,
# cluster_mark, cluster_bin, cluster_database; the functions cluster_initdb, cluster_settings and cluster_unmet.
#
#   mark  lock          whose it is; held by whoever changes something
#   data  data.making   the data directory, there only when complete; what initdb has not finished
#   alive  owner        held by all that comes of a start; the attempt's folder that started it
#   server.log          PostgreSQL's log since its last start, or since it was shortened
#   server.log.old      its end before it was shortened
#
# A server is told by where it works: a process named postgres whose current directory is the data directory.
cluster_is_own() {
    [ -d "$cluster" ] && [ ! -L "$cluster" ] && [ -O "$cluster" ] || return 1
    { read -r mark < "$cluster/mark"; } 2> /dev/null && [ "$mark" = "$cluster_mark" ]
}

# Take the folder: a new one, or an empty one of this account.
cluster_claim() {
    if [ "$(id -u)" = 0 ]; then
        echo "PostgreSQL does not run as root: have BenchHub log in to this host with another account." >&2
        return 1
    fi
    if cluster_is_own; then return 0; fi
    if [ -e "$cluster" ] || [ -L "$cluster" ]; then
        if [ -L "$cluster" ] || [ ! -d "$cluster" ] || [ ! -O "$cluster" ]; then
            echo "$cluster is not a folder of the account that BenchHub logs in with. Nothing was touched." >&2
            return 1
        fi
        case $(ls -A -- "$cluster") in
            '' | mark.new) ;;
            *)
                echo "$cluster has files in it that BenchHub did not write. Nothing was touched." >&2
                return 1
                ;;
        esac
    fi
    # A socket's whole path has at most 107 bytes.
    if [ "${#cluster}" -gt 85 ]; then
        echo "$cluster is too long for a socket: choose a folder of at most 85 characters." >&2
        return 1
    fi
    mkdir -p -m 700 -- "$cluster" && chmod 700 "$cluster" && echo "$cluster_mark" > "$cluster/mark.new" &&
        mv -- "$cluster/mark.new" "$cluster/mark"
}

# Run the words under the cluster's lock, if there is the cluster; nobody waits for it longer than a shutdown takes.
cluster_locked() {
    cluster_is_own || return 0
    (
        exec 5>> "$cluster/lock" || exit 1
        flock -w 120 5 || { echo "Something else is at work on $cluster." >&2; exit 1; }
        "$@"
    )
}

# Run the words without the locks of an attempt and of the cluster, and what its OS settings hang on: a server outlives all. By exec in a subshell, as a
# shell that closes descriptors for a command alone keeps copies of them.
cluster_apart() (
    exec < /dev/null 4>&- 5>&- 7>&- 8>&- 9>&-
    "$@"
)

cluster_make() {
    [ ! -d "$cluster/data" ] || return 0
    rm -rf -- "$cluster/data.making"
    if ! cluster_apart cluster_initdb "$cluster/data.making" > "$cluster/initdb.log" 2>&1; then
        grep -v '^$' "$cluster/initdb.log" | tail -n 5 >&2
        rm -rf -- "$cluster/data.making"
        return 1
    fi
    echo "include = 'benchhub.conf'" >> "$cluster/data.making/postgresql.conf" &&
        : > "$cluster/data.making/benchhub.conf" &&
        cluster_single data.making postgres "CREATE DATABASE \"$cluster_database\"" &&
        mv -- "$cluster/data.making" "$cluster/data"
}

# Carry out one statement in $2 of the data directory $1 without a server.
cluster_single() {
    echo "$3" > "$cluster/single.sql" || return 1
    (
        exec < "$cluster/single.sql" 4>&- 5>&- 7>&- 8>&- 9>&-
        exec "$cluster_bin/postgres" --single -j -D "$cluster/$1" "$2" > "$cluster/single.log" 2>&1
    )
    if [ $? -ne 0 ] || grep -q -E 'ERROR|FATAL|PANIC' "$cluster/single.log"; then
        grep -E 'ERROR|FATAL|PANIC' "$cluster/single.log" | tail -n 1 >&2
        return 1
    fi
}

cluster_processes() {
    for process in /proc/[0-9]*; do
        [ "$process/cwd" -ef "$cluster/data" ] || continue
        { read -r name < "$process/comm"; } 2> /dev/null || continue
        case $name in postgres | postmaster) printf '%s ' "${process#/proc/}" ;; esac
    done
}

# Something of a server is alive, or is on its way to be: whatever is started holds this lock from before its start.
cluster_is_alive() { ! flock -n "$cluster/alive" true || [ -n "$(cluster_processes)" ]; }

cluster_ask_to_stop() {
    cluster_apart "$cluster_bin/pg_ctl" -D "$cluster/data" -m "$1" -w -t "$2" stop > /dev/null 2>&1
}

# Stop the server: by a checkpoint within $1 seconds, else at once, so that it recovers at its start. What a crash left
# working of it is ended as well. A server whose process is killed while it is asked to stop recovers and forgets that it
# was asked: where no shutdown has begun after 10 seconds, it is stopped at once.
cluster_stop() {
    cluster_is_own || return 0
    tries=0 mode=fast
    while cluster_is_alive && [ "$tries" -lt 300 ]; do
        processes=$(cluster_processes)
        { read -r number < "$cluster/data/postmaster.pid"; } 2> /dev/null || number=none
        case " $processes" in
            *" $number "*)
                if [ "$mode" = fast ]; then
                    cluster_ask_to_stop fast 10 || ! cluster_log | grep -q 'LOG:  shutting down' ||
                        cluster_ask_to_stop fast "$1"
                    mode=immediate
                else
                    cluster_ask_to_stop immediate 5
                    kill -s KILL $processes 2> /dev/null
                fi
                ;;
            *) [ -z "$processes" ] || kill -s KILL $processes 2> /dev/null ;;
        esac
        sleep 0.1
        tries=$((tries + 1))
    done
    ! cluster_is_alive || { echo "The server in $cluster does not end: $(cluster_processes)" >&2; return 1; }
}

# The same, unless another attempt than that of folder $1 has started it since.
cluster_stop_of() {
    { read -r owner < "$cluster/owner"; } 2> /dev/null && [ "$owner" = "$1" ] || return 0
    cluster_stop "$2"
}

# Start it anew with these settings and no others. postgresql.auto.conf is what ALTER SYSTEM of an earlier run wrote.
cluster_start() {
    cluster_stop 300 && pwd > "$cluster/owner" || return 1
    rm -f -- "$cluster/data/postmaster.pid" "$cluster"/.s.PGSQL.*
    cluster_settings > "$cluster/data/benchhub.conf.new" &&
        mv -- "$cluster/data/benchhub.conf.new" "$cluster/data/benchhub.conf" &&
        : > "$cluster/data/postgresql.auto.conf" && : > "$cluster/server.log" &&
        rm -f -- "$cluster/server.log.old" || return 1
    (
        exec 6>> "$cluster/alive" < /dev/null > /dev/null 4>&- 5>&- 7>&- 8>&- 9>&-
        flock -s -w 10 6 || exit 1
        exec setsid -w "$cluster_bin/pg_ctl" -D "$cluster/data" -w -t 300 -l "$cluster/server.log" start 6>&6
    )
    if [ $? -ne 0 ] || [ -z "$(cluster_processes)" ]; then
        { cluster_log | grep -E 'FATAL|PANIC' || cluster_log; } | tail -n 3 >&2
        return 1
    fi
}

# The log, of a long one its begin and its end: 64 KiB in all, with a line in between that says so.
cluster_log() (
    size=0 half=32768
    cut='
[The log was longer than 64 KiB: what stood here is not kept.]
'
    for file in "$cluster/server.log.old" "$cluster/server.log"; do
        [ ! -e "$file" ] || size=$((size + $(stat -c %s -- "$file")))
    done
    if [ "$size" -le "$((2 * half))" ]; then
        cat "$cluster/server.log.old" "$cluster/server.log" 2> /dev/null
        exit 0
    fi
    { cat "$cluster/server.log.old"; head -c "$half" "$cluster/server.log"; } 2> /dev/null | head -c "$half"
    printf %s "$cut"
    { cat "$cluster/server.log.old"; tail -c "$half" "$cluster/server.log"; } 2> /dev/null | tail -c "$((half - ${#cut}))"
)

# A load can make a server log without end. pg_ctl has it append, so that it goes on at the start of an emptied file.
cluster_shorten_log() {
    cluster_is_own && size=$(stat -c %s -- "$cluster/server.log" 2> /dev/null) && [ "$size" -gt 67108864 ] || return 0
    cluster_log > "$cluster/server.log.cut" && mv -- "$cluster/server.log.cut" "$cluster/server.log.old" || return 1
    : > "$cluster/server.log"
}

# Goes on after the attempt has ended, however it ended: then it stops the server. Until then it keeps the log short.
cluster_guard() {
    (
        exec < /dev/null > /dev/null 2>&1 4>&- 7>&- 8>&- 9>&-
        exec setsid /bin/sh ./cluster.sh guard
    ) &
}

cluster_begin() {
    cluster_claim && cluster_locked cluster_restore && cluster_locked cluster_make || return 1
    cluster_guard
    cluster_locked cluster_start || return 1
    unmet=$(cluster_unmet) || return 1
    [ -z "$unmet" ] || { echo "$unmet" >&2; return 1; }
}

cluster_end() {
    cluster_is_own || return 0
    cluster_log > server.log
    cluster_locked cluster_stop_of "$(pwd)" 300 2> cluster.err
}

if [ "${1-}" = guard ]; then
    until flock -s -w 5 lock true; do
        [ $? -eq 1 ] || break
        cluster_shorten_log
    done
    cluster_locked cluster_stop_of "$(pwd)" 60
fi
