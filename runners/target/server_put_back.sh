# Put back what an attempt changed of somebody's server and could not put back itself: it was killed, or the server was
# away. Returns 75 while that is still under way, and sets reason where it fails. Whoever goes on sooner leaves it at work.
server_settings_back() {
    state=$work/server_settings
    [ -d "$state" ] || return 0
    rm -f -- "$state.code"
    (
        exec < /dev/null > "$state.log" 2>&1 6>&- 9>&-
        exec setsid /bin/sh -c '/bin/sh "$0/server_settings.sh" restore; echo "$?" > "$0.code"' "$state"
    ) &
    tries=0
    while [ ! -s "$state.code" ] && [ "$tries" -lt 150 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    code=75
    [ ! -s "$state.code" ] || read -r code < "$state.code"
    [ "$code" != 0 ] || return 0
    reason=$(grep -a '^left ' "$state.log" || cat "$state.log")
    reason=$(printf '%s\n' "$reason" | tail -n 1 | head -c 500)
    reason="Settings of a server that an earlier run changed could not be put back: ${reason#left }"
    return "$code"
}
