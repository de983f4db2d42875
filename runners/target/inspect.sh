# A look at a PostgreSQL server: prints sections that begin with a record separator and a name. Nothing is changed.
# Set before: bin_directory, database, query (text of SQL), here (yes where the server runs on this machine), folder
# (its data directory where that is known), granted (yes where runs may change its settings), parameters_query, the
# functions write_password, look_at_command and look_at_pooler, and the variables of libpq.
set -u
umask 077
section() { printf '\036%s\n' "$1"; }
home=$(mktemp -d) || { section refused; echo 'It has no room for a temporary file.'; exit 0; }
trap 'rm -rf -- "$home"' EXIT
trap 'exit 143' TERM INT HUP
write_password > "$home/password"
if [ -s "$home/password" ]; then
    PGPASSFILE=$home/password
    export PGPASSFILE
fi
# What a server says fills neither disk nor memory: files of 1 MiB, and 1 GiB for each program that reads it.
bounded() {
    ulimit -f 2048
    ulimit -v 1048576
} 2> /dev/null
# A server that takes the log-in and then says nothing is no host that is away.
ask() (
    bounded
    timeout -k 1 18 "$bin_directory/psql" -X -q -A -t -w -v ON_ERROR_STOP=1 -d "$1" -c "$2" > "$home/answer"
    code=$?
    cat "$home/answer"
    [ "$code" != 124 ] || echo 'The server did not answer within 18 s.' >&2
    exit "$code"
)
if [ ! -x "$bin_directory/psql" ]; then
    section refused
    echo "There is no psql in $bin_directory of this host: probe it, and choose programs that are there."
    exit 0
fi
# Whether the command is there, and sudo lets this account carry it out; it is not.
look_at() {
    [ $# -gt 0 ] || return 0
    command -v "$1" > /dev/null || { echo "There is no program $1 on the host."; return; }
    [ "$1" = sudo ] || return 0
    shift
    sudo -l "$@" > /dev/null 2>&1 || echo 'sudo does not let the account carry it out without a password.'
}
section seen
if ask "$database" "$query" 2> "$home/errors"; then
    there=$database
    section room
    if [ "$here" = yes ]; then
        [ -n "$folder" ] ||
            folder=$(ask "$database" "SELECT setting FROM pg_settings WHERE name = 'data_directory'" 2> /dev/null)
        [ -z "$folder" ] || df -P -k -- "$folder" 2> /dev/null | tail -n 1
    fi
    look_at_pooler
    if [ "$granted" = yes ]; then
        section parameters; ask "$database" "$parameters_query" 2> /dev/null
        section command; look_at_command
        section file
        [ -n "$folder" ] || folder=$(ask "$database" 'SHOW data_directory' 2> /dev/null)
        [ ! -O "$folder/postgresql.auto.conf" ] || echo own
    fi
else
    there=postgres
    section errors
    tail -c 2000 "$home/errors"
fi
section databases
ask "$there" "SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY 1 LIMIT 200" \
    2> /dev/null || :
