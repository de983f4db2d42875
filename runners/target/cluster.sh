# A cluster of BenchHub's own in $cluster: made once, started, stopped and removed. Nothing of it is touched unless its
# folder carries the mark $cluster_mark, which was written when the folder was made. Set before: cluster,
# cluster_mark, cluster_bin, cluster_database; the functions cluster_initdb, cluster_settings and cluster_unmet.
#
#   mark  lock          whose it is; held by whoever changes something
#   data  data.making   the data directory, there only when complete; what initdb has not finished
#   server.log          PostgreSQL's log since its last start
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

# Run the words without the locks of an attempt and of the cluster: a server outlives both. By exec in a subshell, as a
# shell that closes descriptors for a command alone keeps copies of them.
cluster_apart() (
    exec < /dev/null 5>&- 7>&- 8>&- 9>&-
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
        exec < "$cluster/single.sql" 5>&- 7>&- 8>&- 9>&-
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

# The number and the start of the server, which tell it from any other.
cluster_server() { sed -n '1p;3p' "$cluster/data/postmaster.pid" 2> /dev/null | tr '\n' ' '; }

# Stop the server: by a checkpoint within $1 seconds, else at once, so that it recovers at its start. What a crash left
# working of it is ended as well.
cluster_stop() {
    cluster_is_own || return 0
    processes=$(cluster_processes)
    [ -n "$processes" ] || return 0
    number=$(cluster_server)
    case " $processes" in
        *" ${number%% *} "*)
            cluster_apart "$cluster_bin/pg_ctl" -D "$cluster/data" -m fast -w -t "$1" stop > /dev/null 2>&1 ||
                cluster_apart "$cluster_bin/pg_ctl" -D "$cluster/data" -m immediate -w -t 5 stop > /dev/null 2>&1
            ;;
    esac
    tries=0
    while processes=$(cluster_processes) && [ -n "$processes" ] && [ "$tries" -lt 50 ]; do
        kill -s KILL $processes 2> /dev/null
        sleep 0.1
        tries=$((tries + 1))
    done
    [ -z "$processes" ] || { echo "These processes of $cluster do not end: $processes" >&2; return 1; }
}

# Start it anew with these settings and no others. postgresql.auto.conf is what ALTER SYSTEM of an earlier run wrote.
cluster_start() {
    cluster_stop 300 || return 1
    rm -f -- "$cluster/data/postmaster.pid" "$cluster"/.s.PGSQL.*
    cluster_settings > "$cluster/data/benchhub.conf.new" &&
        mv -- "$cluster/data/benchhub.conf.new" "$cluster/data/benchhub.conf" &&
        : > "$cluster/data/postgresql.auto.conf" && : > "$cluster/server.log" || return 1
    cluster_apart setsid -w "$cluster_bin/pg_ctl" -D "$cluster/data" -w -t 300 -l "$cluster/server.log" start > /dev/null
    if [ $? -ne 0 ] || [ -z "$(cluster_processes)" ]; then
        { grep -E 'FATAL|PANIC' "$cluster/server.log" || cat "$cluster/server.log"; } | tail -n 3 >&2
        return 1
    fi
}

# Whoever goes on after the attempt has ended, however it ended: stops the server unless another attempt has started it.
cluster_guard() {
    (
        exec < /dev/null > /dev/null 2>&1 7>&- 8>&- 9>&-
        exec setsid /bin/sh ./cluster.sh guard "$(cluster_server)"
    ) &
}

cluster_begin() {
    cluster_claim && cluster_locked cluster_make && cluster_locked cluster_start || return 1
    cluster_guard
    unmet=$(cluster_unmet) || return 1
    [ -z "$unmet" ] || { echo "$unmet" >&2; return 1; }
}

cluster_end() {
    cluster_is_own || return 0
    tail -c 65536 "$cluster/server.log" > server.log 2> /dev/null
    cluster_locked cluster_stop 300 2> cluster.err
}

if [ "${1-}" = guard ]; then
    flock -s lock true
    guarded=$2
    end_guarded() { [ "$(cluster_server)" != "$guarded" ] || cluster_stop 60; }
    cluster_locked end_guarded
fi
