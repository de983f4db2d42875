# Copies of the data directory of a cluster of BenchHub's own, each as it was right after a load, so that a data set is
# restored by copying files instead of being loaded anew. Beside what cluster.sh needs, set before: copy_key, which names
# a data set (empty: no copies); copy_restores and copy_keeps, whether this attempt takes such a copy and leaves one.
#
#   copies/KEY     data, fingerprint: there only when complete
#   copies/making  what is not complete yet, and is never read
#
# What came of it stands in the attempt's files copy.txt (name value), copy.refused (a sentence) and copies.txt (the keys
# of all copies that there are after the load, as it may have removed others).
COPIES_KEPT=4
COPY_MARGIN_KB=262144 # beside the copy itself: a server needs room for its log

copy_clock() { read -r uptime _ < /proc/uptime; echo "$uptime"; }
copy_since() { awk -v from="$1" '{ printf "%.2f\n", $1 - from }' /proc/uptime; }
copy_refuse() { echo "$1" > copy.refused; }
copy_kb() { du -sk -- "$1" | cut -f 1; }
copy_free_kb() { df -Pk -- "$cluster" | awk 'NR == 2 { print $4 }'; }

# Remove a copy under another name: what is broken off half way is no copy any more.
copy_remove() {
    rm -rf -- "$cluster/copies/making" || return 1
    [ -d "$1" ] || return 0
    mv -- "$1" "$cluster/copies/making" && rm -rf -- "$cluster/copies/making"
}

# Copy a data directory and have it on the disk. Where the file system can, both share their blocks until one is written.
copy_data() {
    cp -a --reflink=auto -- "$1" "$2" && "$cluster_bin/initdb" --sync-only -D "$2" > /dev/null
}
copy_shares_blocks() {
    if cp --reflink=always -- "$cluster/data/global/pg_control" "$cluster/copies/probe" 2> /dev/null; then
        echo 'shared 1' >> copy.txt
    fi
    rm -f -- "$cluster/copies/probe"
}

# Put the copy in the place of the data directory, before the server starts. Where there is none, the load makes the data.
cluster_restore() {
    [ -n "$copy_restores" ] || return 0
    copy=$cluster/copies/$copy_key
    [ -d "$copy/data" ] || { copy_refuse 'The copy was not there any more.'; return 0; }
    cluster_stop 300 || return 1
    began=$(copy_clock)
    # Under this name nothing is taken for a data directory, and what makes one removes it.
    rm -rf -- "$cluster/data.making" || return 1
    if [ -d "$cluster/data" ]; then
        mv -- "$cluster/data" "$cluster/data.making" && rm -rf -- "$cluster/data.making" || return 1
    fi
    if copy_data "$copy/data" "$cluster/data.making" && mv -- "$cluster/data.making" "$cluster/data"; then
        touch -- "$copy"
        copy_shares_blocks
        echo "restored_s $(copy_since "$began")" >> copy.txt
    else
        rm -rf -- "$cluster/data.making"
        copy_refuse 'The copy could not be put in place.'
    fi
}
cluster_is_restored() { [ -e copy.txt ] && grep -q '^restored_s ' copy.txt; }

# Tell whether what the server has now is what was copied; a copy of something else is of no use to anybody.
cluster_restored_well() {
    cmp -s -- "$1" "$cluster/copies/$copy_key/fingerprint" && return 0
    copy_remove "$cluster/copies/$copy_key"
    echo "The copy has another checksum than the data set had when it was copied. It is removed: load it again." >&2
    return 1
}

# Leave a copy of what was just loaded, if that is asked for and there is room; else none that nobody takes any more.
# $1: the file with the checksum. $2: the seconds of the load.
cluster_keep() {
    if [ -z "$copy_keeps" ]; then
        copy_remove "$cluster/copies/$copy_key"
        return
    fi
    cluster_stop 300 || return 1
    if ! "$cluster_bin/pg_controldata" -D "$cluster/data" | grep -q 'cluster state: *shut down$'; then
        copy_refuse 'No copy was kept: the server did not shut down in order.'
    elif [ -n "$(find "$cluster/data" -type l | head -n 1)" ]; then
        copy_refuse 'No copy was kept: a tablespace, or another link, leads out of the data directory.'
    else
        copy_make "$1" "$2"
    fi
}
copy_make() {
    mkdir -p -- "$cluster/copies" && copy_remove "$cluster/copies/$copy_key" || return 1
    size_kb=$(copy_kb "$cluster/data")
    copies_make_room "$((size_kb + COPY_MARGIN_KB))" || return 0
    began=$(copy_clock)
    if ! { mkdir -- "$cluster/copies/making" && copy_data "$cluster/data" "$cluster/copies/making/data"; }; then
        rm -rf -- "$cluster/copies/making"
        copy_refuse 'No copy was kept: the files could not be copied.'
        return 0
    fi
    took_s=$(copy_since "$began")
    copy_shares_blocks
    cp -- "$1" "$cluster/copies/making/fingerprint" && sync -- "$cluster/copies/making/fingerprint" &&
        mv -- "$cluster/copies/making" "$cluster/copies/$copy_key" &&
        printf '%s\n' "copied_s $took_s" "loaded_s $2" "kilobytes $size_kb" >> copy.txt
}

# Remove the copies that were used longest ago: more than a few, and as many as stand in the way of $1 kB.
copies_make_room() {
    free_kb=$(copy_free_kb)
    # Where all of them together make too little room, none is given up for it.
    if [ "$((free_kb + $(copy_kb "$cluster/copies")))" -lt "$1" ]; then
        copy_refuse "No copy was kept: it needs $1 kB of disk, and $free_kb kB are free."
        return 1
    fi
    while :; do
        oldest=$(ls -1tr -- "$cluster/copies" | head -n 1)
        number=$(ls -1 -- "$cluster/copies" | wc -l)
        free_kb=$(copy_free_kb)
        [ "$number" -ge "$COPIES_KEPT" ] || [ "$free_kb" -lt "$1" ] || return 0
        if [ -z "$oldest" ]; then
            copy_refuse "No copy was kept: it needs $1 kB of disk, and $free_kb kB are free."
            return 1
        fi
        copy_remove "$cluster/copies/$oldest" || return 1
    done
}

# The copies that there are, one a line: their keys; and with their kilobytes.
copies_keys() {
    for copy in "$cluster"/copies/*; do
        [ ! -d "$copy/data" ] || [ "${copy##*/}" = making ] || echo "${copy##*/}"
    done
}
copies_list() {
    for key in $(copies_keys); do echo "$key $(copy_kb "$cluster/copies/$key")"; done
}
copies_discard() { rm -rf -- "$cluster/copies"; }
