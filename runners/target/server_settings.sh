# Settings of somebody's server for the time of an attempt, by ALTER SYSTEM. A keeper applies them, and puts back what was
# there before when descriptor 4, which all that comes of the attempt has open, is closed everywhere: also when the
# attempt's shell is killed. What is put back, and how, is written down before anything is changed:
#
#   server_settings/         in the work directory, from before the first change until all is proved to be back
#     server_settings.sh     this file: `sh server_settings.sh restore` puts back
#     restore.sql  rows      how, and what there was: name, value in postgresql.auto.conf, value in force
#     data_directory  auto.conf  password
#     mark                   who is at it: the comment of the server's mark
#     marked                 there from the first change until all is proved to be back
#     restarting             there while a restart by an attempt has not brought the server back
#   server_settings.lock     held by whoever changes something
#
# The server's mark keeps those apart who share no work directory: a role that nobody can log in as. It outlasts restarts
# and crashes, as no lock of a session does, and the second CREATE ROLE fails.
#
# Set before: server_bin, server_seconds, server_count, server_pattern (of the names, for grep), server_restarts (yes or
# empty), server_statement_form and server_rows_form (what the server may write down, for grep), server_held and
# server_no_answer (sentences); the functions server_connection, server_command and server_sql_*.
server_refuse() {
    echo "refused $(echo "$1" | tr '\n' ' ' | head -c 1000)"
    exit 1
}

# Nobody has answered, and nothing has begun: a word of its own, as what a server says stands behind the other one.
server_give_up() {
    echo "unanswered $(echo "$1" | tr '\n\t' '  ' | head -c 1000)"
    exit 1
}

# Carry out the SQL on standard input: as any session would, and as one that settings of its own do not cut short. What
# is compared is read as any session would: the other changes what it reads. What a server says fills neither disk nor
# memory: psql takes 1 GiB at most, and it is an error where it prints or complains more than 1 MiB, or where that cannot be
# written whole. It complains where it fails alone: a server may warn each session, and that is no answer. Descriptor 5,
# the lock, stays its own.
server_ask() (
    { complaint=$(server_ask_aloud "$@" 2>&1 >&7 7>&-) && exit 0; } 7>&1  # a bare exit within a trap tells how that began
    code=$?
    printf '%s\n' "$complaint" >&2
    exit "$code"
)
server_ask_aloud() (
    {
        {
            {
                {
                    ulimit -v 1048576 2> /dev/null
                    timeout -k 1 60 "$server_bin/psql" -X -q -A -t -w -v ON_ERROR_STOP=1 "$@" -f - 2>&3 3>&- 6>&- 7>&-
                    echo "$?" >&6
                } | server_take >&7 3>&-
            } 3>&1 | server_take >&2
        } 6>&1 | server_all_well
    } 7>&1
)
# Pass on 1 MiB at most, and say on descriptor 6 whether that was all.
server_take() {
    head -c 1048576 && [ "$(head -c 1 | wc -c)" -eq 0 ]
    echo "$?" >&6
}
# End as the program and both of what took its output did: 0 where all three say so.
server_all_well() {
    ends=0 code=0
    while read -r ended; do
        ends=$((ends + 1))
        [ "$ended" = 0 ] || code=$ended
    done
    [ "$ends" = 3 ] || code=1
    exit "$code"
}
server_admin() (
    PGOPTIONS='-c statement_timeout=0 -c lock_timeout=0 -c client_min_messages=warning -c default_transaction_read_only=off'
    export PGOPTIONS
    server_ask "$@"
)

# Wait until the server takes sessions, for at most $1 tries.
server_answers() {
    try=0
    until reason=$(echo 'SELECT 1' | server_admin 2>&1 > /dev/null); do
        try=$((try + 1))
        [ "$try" -lt "$1" ] || { echo "$reason" >&2; return 1; }
        sleep 0.5
    done
}

# The moment at which the server read its files is another one for sessions that begin after it.
server_loaded() { echo 'SELECT extract(epoch FROM pg_conf_load_time())' | server_admin; }
server_reload() {
    loaded=$(server_loaded) && echo 'SELECT pg_reload_conf()' | server_admin > /dev/null || return 1
    tries=0
    while [ "$tries" -lt 100 ]; do
        now=$(server_loaded) || return 1
        [ "$now" = "$loaded" ] || return 0
        sleep 0.1
        tries=$((tries + 1))
    done
    echo 'The server did not read its configuration files anew: its log says why.' >&2
    return 1
}

# By the owner's command, apart from all locks, also of an attempt whose shell puts back: the server outlives them.
server_started() { echo 'SELECT extract(epoch FROM pg_postmaster_start_time())' | server_admin 2> /dev/null; }
server_restart() {
    started=$(server_started)
    : > "$server_state/restarting" || return 1
    (
        exec < /dev/null > /dev/null 2>&1 3<&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
        server_command exec timeout -k 5 300 setsid -w
    )
    code=$?
    tries=120
    [ "$code" = 0 ] || tries=10
    server_answers "$tries" || { echo "The server does not answer after its restart, whose command ended with $code." >&2; return 1; }
    rm -f -- "$server_state/restarting"
    [ "$(server_started)" != "$started" ] && return 0
    echo "The command did not restart the server: it ended with $code." >&2
    return 1
}

# Each line of a file that the server wrote is of the form: psql carries no other text out, and none that was not read.
server_is_of_form() {
    grep -a -q -v -x -E -e "$1" "$2"
    [ $? -ne 1 ] || return 0
    echo 'The server tells of settings in other than plain ASCII without backslashes: nothing of that is carried out.' >&2
    return 1
}

# Set $file to the one that ALTER SYSTEM writes, where this account owns file and folder. The server has named the folder: in
# one of somebody else's a link would lead to any file of this account, and a pipe would be read without end.
server_find_file() {
    folder=$(cat "$1/data_directory") file=$folder/postgresql.auto.conf
    [ -O "$folder" ] && [ -f "$file" ] && [ ! -L "$file" ] && [ -O "$file" ]
}

# Write down what is put back before it is changed, in one step, and so that it outlasts the machine's power.
server_write_down() {
    new=$server_state.new
    rm -rf -- "$new" && mkdir -m 700 -- "$new" && cp server_settings.sh "$new/" || return 1
    [ ! -e .pgpass ] || cp .pgpass "$new/password" || return 1
    server_use_password "$new/password"
    server_place > "$new/mark"
    server_sql_restore | server_admin > "$new/restore.sql" && server_sql_rows | server_ask > "$new/rows" || return 1
    server_is_of_form "$server_statement_form" "$new/restore.sql" && server_is_of_form "$server_rows_form" "$new/rows" ||
        return 1
    [ "$server_count" -eq 0 ] || grep -q . "$new/rows" || return 1
    echo 'SHOW data_directory' | server_admin > "$new/data_directory" && [ -s "$new/data_directory" ] || return 1
    [ "$(grep -c '^ALTER SYSTEM ' "$new/restore.sql")" -eq "$server_count" ] || return 1
    server_find_file "$new" && { cp "$file" "$new/auto.conf" 2> /dev/null || rm -f -- "$new/auto.conf"; }
    { sync -- "$new"/* "$new" || sync; } 2> /dev/null
    mv -- "$new" "$server_state" && { sync -- "${server_state%/*}" || sync; } 2> /dev/null
}

# What is written down, where it is by now: whoever moves the work directory moves it. This shell has its mark open
# (descriptor 3), as long as it lasts.
server_open_state() { [ -e "$server_state/mark" ] && exec 3< "$server_state/mark"; }
server_find_state() {
    mark_file=$(readlink "/proc/$$/fd/3") && server_state=${mark_file%/mark}
    if [ "$server_state" = "$mark_file" ] || [ ! -e "$mark_file" ]; then
        echo 'What was written down of them is gone: deleted, or moved to another file system.' >&2
        return 1
    fi
    server_use_password "$server_state/password"
}

# Who is at it, as others read it: host and work directory.
server_place() { echo "$(uname -n):${server_state%/*}"; }
# Returns 1 where somebody is at it but who has the mark $1, with a sentence, and 2 where the server does not tell. A mark of
# this work directory is another's as well before a run: what that left here is put back by then, so it was moved away.
server_is_free() {
    holder=$(server_sql_holder | server_admin) || return 2
    [ -z "$holder" ] || [ "$holder" = "${1-}" ] || { echo "$holder $server_held"; return 1; }
}

# Mark the server, unless somebody else has: what that one set may be what was just written down.
server_mark() {
    mark=$(cat "$server_state/mark")
    error=$(server_sql_mark | server_admin -v "mark=$mark" 2>&1) || {
        server_answers 20 && server_is_free "$mark" || return 1
        [ "$holder" = "$mark" ] || { echo "$error" >&2; return 1; }
    }
    left=$(server_left) || return 1
    [ -z "$left" ] || { echo "Another one $server_held" >&2; return 1; }
    : > "$server_state/marked" && { sync -- "$server_state" || sync; } 2> /dev/null
}
# A mark that was under way when its keeper was killed may be committed by the server yet, and nobody sees it before: a
# second one waits for that, and then fails or is the one to remove.
server_await_mark() { server_sql_mark | server_admin -v "mark=$(cat "$server_state/mark")" > /dev/null 2>&1 || :; }
server_unmark() { server_sql_unmark | server_admin -v "mark=$(cat "$server_state/mark")" > /dev/null; }

server_apply() {
    server_sql_set | server_admin > /dev/null || return 1
    if [ -n "$server_restarts" ]; then server_restart || return 1; else server_reload || return 1; fi
    unmet=$(server_sql_unmet | server_ask) || return 1
    [ -z "$unmet" ] || { echo "$unmet" >&2; return 1; }
}

# A server that a restart of ours did not bring back gets its lines of before.
server_revive() {
    [ -e "$server_state/restarting" ] && [ -f "$server_state/auto.conf" ] || return 1
    server_find_file "$server_state" || return 1
    {
        grep -i -v -E "^[[:space:]]*($server_pattern)[[:space:]=]" "$file"
        grep -i -E "^[[:space:]]*($server_pattern)[[:space:]=]" "$server_state/auto.conf"
    } > "$file.benchhub"
    chmod 600 "$file.benchhub" && mv -- "$file.benchhub" "$file" && server_restart
}

# What is not as it was before, as sentences.
server_left() {
    [ "$server_count" -gt 0 ] || return 0
    server_sql_left "$(cat "$server_state/rows")" | server_ask
}

server_is_same() {
    [ "$(echo 'SHOW data_directory' | server_admin)" = "$(cat "$server_state/data_directory")" ] && return 0
    echo 'Another server answers in its place.' >&2
    return 1
}

# Put back what is written down; a start alone brings back some settings. Without the mark nothing was changed.
server_put_back() {
    tries=$1
    server_find_state || return 1
    [ ! -e "$server_state/restarting" ] || tries=1
    server_answers "$tries" || server_revive || return 1
    server_find_state || return 1
    [ -e "$server_state/marked" ] || { server_await_mark; server_unmark; return "$?"; }
    server_is_same && server_is_free "$(cat "$server_state/mark")" || return 1
    server_admin < "$server_state/restore.sql" > /dev/null && server_reload || return 1
    left=$(server_left) || return 1
    if [ -n "$left" ] && [ -n "$server_restarts" ]; then
        server_restart && left=$(server_left) || return 1
    fi
    [ -z "$left" ] || { echo "$left" >&2; return 1; }
    rm -f -- "$server_state/marked" && server_unmark
}

server_tell() { server_sql_values | server_ask | head -n "$server_count" | cut -b -1200 | sed "s/^/$1 /"; }

# Put back within $1 tries, prove it, and forget what was written down.
server_finish() {
    if reason=$(server_put_back "$1" 2>&1) && server_find_state; then
        server_tell after
        rm -rf -- "$server_state.old"
        mv -- "$server_state" "$server_state.old" && rm -rf -- "$server_state.old"
        return 0
    fi
    echo "left $(echo "$reason" | tr '\n' ' ' | tail -c 500)"
    return 1
}

server_use_password() {
    [ ! -e "$1" ] || { PGPASSFILE=$1; export PGPASSFILE; }
}

server_hold() {
    exec 5>> "$server_state.lock" && flock -w 20 5 || server_refuse 'another run on this host is at work on a server'
    [ ! -d "$server_state" ] || server_refuse 'what an earlier run changed has not been put back'
    server_use_password "$(pwd)/.pgpass"
    # Whoever changed it since the look may be restarting it.
    reason=$(server_answers 20 2>&1) || server_give_up "$reason"
    reason=$(server_is_free 2>&1) || server_refuse "$reason"
    reason=$(server_sql_rights | server_ask 2>&1) && [ -z "$reason" ] || server_refuse "$reason"
    reason=$(server_sql_refusals | server_ask 2>&1) && [ -z "$reason" ] || server_refuse "$reason"
    trap 'rm -rf -- "$server_state.new"' EXIT
    reason=$(server_write_down 2>&1) || server_refuse "the settings of before could not be written down. $reason"
    server_open_state || server_refuse 'the settings of before could not be read'
    server_use_password "$server_state/password"
    # Whatever ends it from here on puts back. A handler, not '': what it waits with would ignore the signal, too.
    trap 'server_finish 120' EXIT
    trap : TERM INT HUP PIPE
    reason=$(server_mark 2>&1) || server_refuse "$reason"
    server_tell before
    reason=$(server_apply 2>&1) || server_refuse "$reason"
    server_tell applied
    echo held
    timeout "$server_seconds" cat > /dev/null || echo overdue
    server_tell end
}

# What an attempt left, by whoever comes next; 75 while somebody is at it.
server_restore() {
    exec 5>> "$server_state.lock" && flock -w 2 5 || exit 75
    [ -d "$server_state" ] || exit 0
    server_open_state || :
    server_finish 10
}

# Before an attempt begins: 75 where somebody elsewhere is at work on the server, 1 where it does not tell.
server_look() {
    server_use_password "$(pwd)/.pgpass"
    server_answers 8 || exit 1
    code=0
    server_is_free > /dev/null || code=$?
    case $code in 0) ;; 1) exit 75 ;; *) exit 1 ;; esac
}

# In the attempt's shell. The keeper is in a session of its own and without the attempt's locks: whoever ends the attempt
# leaves it alone. It ends by itself, however long a restart takes.
server_begin() {
    mkfifo -m 600 server_settings.switch && : > server_settings.log && exec 4<> server_settings.switch || return 1
    (
        exec < server_settings.switch >> server_settings.log 2> server_settings.err 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
        rm -f server_settings.switch
        exec setsid /bin/sh -c '/bin/sh ./server_settings.sh hold; echo "ended $?"'
    ) &
    server_holder=$!
    until grep -a -q -E '^(ended |held$)' server_settings.log; do
        kill -0 "$server_holder" 2> /dev/null || break
        sleep 0.1
    done
    if grep -a -q '^held$' server_settings.log; then return 0; fi
    reason=$(grep -a -m 1 -E '^(refused|unanswered) ' server_settings.log)
    case $reason in
        'unanswered '*) echo "$server_no_answer: ${reason#unanswered }" >&2 ;;
        'refused '*) echo "Server setting error: ${reason#refused }" >&2 ;;
        *) echo 'Server setting error: the keeper was ended.' >&2 ;;
    esac
    return 1
}

# Whoever was killed before it had put back is followed by this shell, which looks where its folder was and where it is.
server_end() {
    [ -n "${server_holder-}" ] || return 0
    exec 4>&-
    wait "$server_holder"
    for place in "$(cd -- ../../.. && pwd)" "$(cd -P -- ../../.. && pwd)"; do
        if [ -d "$place/server_settings" ] && ! grep -a -q '^left ' server_settings.log; then
            /bin/sh "$place/server_settings/server_settings.sh" restore >> server_settings.log 2>> server_settings.err
        fi
    done 2> /dev/null
    ! grep -a '^left ' server_settings.log >&2
}

case ${1-} in
    hold | look) server_state=$(cd -- ../../.. && pwd)/server_settings ;;
    restore) server_state=$(cd -- "$(dirname -- "$0")" && pwd) ;;
esac
case ${1-} in
    hold | look | restore)
        umask 077
        server_connection
        "server_$1"
        ;;
esac
