# Settings of the operating system for the time of an attempt, by the helper that the host's administrator installed. It
# changes them and puts them back when descriptor 4, which all that comes of the attempt has open but its server, is
# closed everywhere: also when this shell is killed. Set before: os_helper, os_version, os_seconds, os_state, the function
# os_values; cluster, where the data lie or are going to.

# Number of the block device on which the folder lies, or the nearest that there is above it.
os_device() {
    place=$cluster
    while [ ! -d "$place" ]; do place=$(dirname -- "$place"); done
    number=$(stat -L -c %d -- "$place") || { echo -; return; }
    echo "$((number >> 8 & 4095)):$((number & 255 | number >> 12 & 1048320))"
}

# Why the helper did not begin; what sudo says of a rule that is missing is on its standard error.
os_failure() {
    refusal=$(grep -a -m 1 '^refused ' os_settings.log)
    if [ -n "$refusal" ]; then
        echo "OS setting error: ${refusal#refused }" >&2
    else
        echo "OS rule error: $(tail -n 1 os_settings.err | head -c 300)" >&2
    fi
    left=$(grep -a -m 1 '^left ' os_settings.log) && echo "OS setting error: not put back: ${left#left }" >&2
    return 1
}

# The helper is in a session of its own and without the attempt's locks: whoever ends the attempt leaves it alone.
os_begin() {
    rm -f os_settings.switch
    mkfifo -m 600 os_settings.switch && : > os_settings.log && exec 4<> os_settings.switch || return 1
    (
        exec < os_settings.switch >> os_settings.log 2> os_settings.err 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
        rm -f os_settings.switch
        exec setsid /bin/sh -c '"$@"; echo "ended $?"' sh \
            $os_helper hold "$os_version" "$(os_device)" "$os_seconds" $(os_values)
    ) &
    os_holder=$!
    tries=0
    while [ "$tries" -lt 300 ]; do
        if grep -a -q '^ended ' os_settings.log; then break; fi
        if grep -a -q '^held$' os_settings.log; then return 0; fi
        sleep 0.1
        tries=$((tries + 1))
    done
    os_failure
}

os_end() {
    [ -n "${os_holder-}" ] || return 0
    exec 4>&-
    wait "$os_holder"
    os_restore
}

# A helper that was killed has put back nothing. One that never came to change anything leaves alone what others hold, and
# one that is still at it is waited for, by its lock.
os_restore() {
    [ -e "$os_state/before" ] && grep -a -q '^before ' os_settings.log || return 0
    ! grep -a -q '^ended 0$' os_settings.log || return 0
    $os_helper restore "$os_version" >> os_settings.log 2>> os_settings.err 8>&- && echo restored >> os_settings.log
}
