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

# Where the attempt's files are not where they were (deleted, moved, covered by a mount), its lock's name still tells what
# came of it: that is open in its wrapper (8), its command (8) and its heart (5). ls reads all of /proc in one program, as
# there may be thousands of processes.
lock_holders() {
    ls -ld /proc/[0-9]*/fd/[58] 2>&- | while read -r line; do
        case $line in *"/runs/$run/$number/lock" | *"/runs/$run/$number/lock (deleted)") ;; *) continue ;; esac
        process=${line%%/fd/* -> *}
        printf '%s ' "${process##*/}"
    done
}

# Set $sessions to those in which something has, or had, the lock open. Some of a session close it.
sessions=
note_sessions() {
    for process in $(lock_holders); do
        { read -r stat < "/proc/$process/stat"; } 2>&- || continue
        set -- ${stat##*) }
        sessions="$sessions $4 "
    done
}

# What works in a folder of the attempt's name and is of these sessions. Who puts back settings of somebody's server, and
# that server's restart, work there as well, in sessions of their own and without the lock: they are no strays.
strays() {
    ls -ld /proc/[0-9]*/cwd 2>&- | while read -r line; do
        case $line in *"/runs/$run/$number" | *"/runs/$run/$number (deleted)") ;; *) continue ;; esac
        process=${line%%/cwd -> *}
        { read -r stat < "/proc/${process##*/}/stat"; } 2>&- || continue
        set -- ${stat##*) }
        case $sessions in *" $4 "*) printf '%s ' "${process##*/}" ;; esac
    done
}

# Shells of attempts (wrapper, heart, witness), whatever their folder is called by now: a word of their command lines, the
# name that it had at the start with its work directory, ends with $1.
shells() {
    ls -ld /proc/[0-9]*/fd/[58] 2>&- | while read -r line; do
        case $line in */lock | *'/lock (deleted)') ;; *) continue ;; esac
        process=${line%%/fd/* -> *}
        words=$(tr '\0' '\n' 2>&- < "/proc/${process##*/}/cmdline") || continue
        case $words in *"$1
"*) printf '%s ' "${process##*/}" ;; esac
    done
}
own_shells() {
    shells "
$folder"
}

# Another work directory of this machine may have an attempt of the same name: its shells have another word.
is_of_another() {
    for other in $others; do
        if [ "/proc/$other/cwd" -ef "/proc/$1/cwd" ]; then return 0; fi
    done
    return 1
}

# Go to where the attempt's files are by now, if they were moved and something of it works there still.
enter_elsewhere() {
    others= own=" $(own_shells)"
    for process in $(shells "/runs/$run/$number"); do
        case $own in *" $process "*) ;; *) others="$others $process" ;; esac
    done
    for process in $own $(note_sessions; strays); do
        if [ -e "/proc/$process/cwd/started" ] && ! is_of_another "$process" && cd "/proc/$process/cwd" 2>&-; then
            return 0
        fi
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
