# The processes of the attempt: those in the current folder, by what its wrapper wrote down of itself and its command, and
# those that work in its folder wherever that is by now. Nothing here needs /dev/null, which may be what is broken.
# Process $1 is the one that started at clock tick $2 and no later one with its number.
is_process() {
    { read -r stat < "/proc/$1/stat"; } 2> /dev/null || return 1
    set -- "$2" ${stat##*) }
    [ "${21}" = "$1" ] && [ "$2" != Z ]
}

# The wrapper writes 'pid' a moment after 'started'. The boot in it is the one in 'started'.
identify() {
    wrapper=0 wrapper_start=0 command=0 command_start=0
    tries=0
    while [ ! -s pid ] && [ "$tries" -lt 20 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    [ ! -s pid ] || read -r _ wrapper wrapper_start command command_start < pid
}

# What works in a folder of the attempt's name, although its files are not where they were: deleted, moved, or covered by
# a mount. By one program, as there may be thousands of processes.
strays() {
    ls -ld /proc/[0-9]*/cwd 2>&- | while read -r line; do
        case $line in *"/runs/$run/$number" | *"/runs/$run/$number (deleted)") ;; *) continue ;; esac
        process=${line%% -> *}
        process=${process%/cwd}
        printf '%s ' "${process##*/}"
    done
}

# The lock that such a process has open is not deleted: the files are somewhere, and may come back.
is_hidden() {
    for process in $(strays); do
        case $(ls -ld "/proc/$process/fd/8" 2>&-) in *"/runs/$run/$number/lock") return 0 ;; esac
    done
    return 1
}

# What is left in the wrapper's session works in the folder: itself, its heart, and what it sums up by. A number that was
# given out again does not.
of_wrapper() {
    [ "$wrapper" != 0 ] || return 0
    for process in /proc/[0-9]*; do
        { read -r stat < "$process/stat"; } 2> /dev/null || continue
        set -- ${stat##*) }
        if [ "$1" != Z ] && [ "$4" = "$wrapper" ] && [ "$process/cwd" -ef . ]; then printf '%s ' "${process#/proc/}"; fi
    done
}
