# One visit to a cluster of BenchHub's own: $purpose is make, look, stop, discard or remove. Prints sections that begin with a
# record separator and a name. Set before: work, purpose, and what cluster.sh needs; a relative $cluster lies in $work.
set -u
umask 077
case $work in /*) cd / ;; *) cd -- "$HOME" && work=$(pwd)/$work || exit 1 ;; esac
# A look makes no work directory: who moved it may want to move it back, and would move it into a new one.
[ "$purpose" = look ] || mkdir -p -- "$work" || exit 1
if [ -d "$work" ]; then cd -- "$work" && work=$(pwd) || exit 1; fi
case $cluster in /*) ;; *) cluster=$work/$cluster ;; esac
section() { printf '\036%s\n' "$1"; }
refuse() { section refused; echo "$1"; exit 0; }

# Carry out the words; what they say on standard error is why they were not.
or_refuse() {
    reason=$("$@" 2>&1 > /dev/null) || refuse "$(echo "$reason" | tail -c 2000)"
}

# What the build knows of its settings, and the libraries that it could preload.
parameters() {
    : > "$cluster/data/benchhub.conf" && : > "$cluster/data/postgresql.auto.conf" || return 1
    cluster_single data postgres "COPY (SELECT json_object_agg(name, json_build_object('kind', vartype, 'unit', unit, \
'context', context, 'lowest', min_val, 'highest', max_val, 'choices', enumvals, 'default', boot_val)) \
FROM pg_settings) TO '$cluster/parameters.json'"
}
libraries() {
    folder=$("$cluster_bin/pg_config" --pkglibdir 2> /dev/null) || return 0
    for file in "$folder"/*.so; do
        file=${file##*/}
        echo "${file%.so}"
    done
}
# The settings in force that are not the server's defaults; of a server that is stopped, those of its last start.
settings() {
    if [ -n "$(cluster_processes)" ]; then
        PGCONNECT_TIMEOUT=5 "$cluster_bin/psql" -X -q -A -t -w -h "$cluster" -p "$port" -U "$user" -d postgres -c \
            "SELECT json_build_object('name', name, 'setting', setting, 'unit', unit) FROM pg_settings
            WHERE source IN ('configuration file', 'database', 'user', 'database user', 'global') ORDER BY name"
    fi
}
remove() {
    cluster_stop 30 || return 1
    for name in "$cluster"/* "$cluster"/.s.PGSQL.*; do
        case ${name##*/} in mark | lock) ;; *) rm -rf -- "$name" || return 1 ;; esac
    done
    rm -f -- "$cluster/lock" "$cluster/mark"
    rmdir -- "$cluster" 2> /dev/null || true # a file system of its own stays, empty
}

if [ "$purpose" != look ]; then
    exec 9>> "$work/host.lock"
    flock -w 1 9 || refuse BUSY
    or_refuse os_put_back
fi
if [ "$purpose" = make ]; then
    or_refuse cluster_claim
    or_refuse cluster_locked cluster_make
    or_refuse cluster_locked cluster_stop 30
    or_refuse cluster_locked parameters
    section parameters; cat "$cluster/parameters.json"
    section libraries; libraries
elif [ -e "$cluster" ] && ! cluster_is_own; then
    if [ "$purpose" != look ] && [ -n "$(ls -A "$cluster")" ]; then
        refuse "$cluster does not carry the mark of this cluster: it is somebody else's. Nothing was touched."
    fi
elif [ "$purpose" = stop ]; then
    or_refuse cluster_locked cluster_stop 60
elif [ "$purpose" = discard ]; then
    or_refuse cluster_locked copies_discard
elif [ "$purpose" = remove ]; then
    or_refuse cluster_locked remove
fi
section folder; echo "$cluster"
if cluster_is_own; then
    section copies; copies_list
fi
if cluster_is_own && [ -d "$cluster/data" ]; then
    section version; cat "$cluster/data/PG_VERSION"
    section processes; cluster_processes
    section kilobytes; du -sk -- "$cluster/data" 2> /dev/null | cut -f 1
    section settings; settings 2> /dev/null
    section last_start; head -c 20000 "$cluster/data/benchhub.conf"
fi
