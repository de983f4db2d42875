"""sh text that load generators share: the programs of the driver's PostgreSQL, and the check of a data set."""

from __future__ import annotations

import re
import shlex

from runners.contract import ConnectionPath, Endpoint, RunSpec

CONNECT_TIMEOUT_S = 10
NEVER_IN_CLEAR = "!password"  # libpq knows it from 16 on, and older ones take no notice
# What the account's own environment must not change about a run.
UNSET = (
    "PGHOST PGHOSTADDR PGPASSWORD PGPASSFILE PGSERVICE PGSERVICEFILE PGOPTIONS PGREQUIRESSL PGSSLCERT PGSSLKEY "
    "PGSSLROOTCERT PGGSSENCMODE PGTARGETSESSIONATTRS PGLOADBALANCEHOSTS PGCLIENTENCODING PGTZ PGDATESTYLE"
)
SSL_MODES: dict[ConnectionPath, str] = {
    "socket": "disable",
    "loopback": "disable",
    "network": "disable",
    "tls": "require",
}

# What `verified` says where a load would help.
OTHER_DATA_SET, NO_DATA_SET = "The data set is not the one asked for", "There is no {} data set"
# How a step before the load begins the line in which it says that nobody answered: behind it stands what psql said.
NO_ANSWER = "The server cannot be asked"
NO_DATA_SET_TEXT = re.compile(NO_DATA_SET.format(r"\w{1,60}"))

STANDBY = "The server is a standby, which takes no writes: choose its primary, or a workload that only reads."
NOT_LOADED = "The server is a standby: its data set comes from its primary. It was checked, and nothing was loaded."
NOT_THERE = "Load it on the primary, then plan again."

# Of what a server says to a question, the shell that asks holds so much: it may go on without end.
MOST_ANSWER_BYTES = 65_536
CUT_SHORT, TOO_LONG = 141, f"It said more than {MOST_ANSWER_BYTES} bytes."  # the program's end by the signal PIPE
ANSWER_S, NOT_IN_TIME, LATE = 60, "The server did not answer within 60 s.", 124  # the end that timeout gives it
# What servers call a warning in their languages: it is no reason, and a line of libpq's may be behind it.
WARNED = "(WARNING|WARNUNG|ATTENTION|ADVERTENCIA|ATTENZIONE|AVISO|VARNING|UYARI|UWAGA|ПРЕДУПРЕЖДЕНИЕ|警告|경고)"
# How a line begins, up to its colon, that tells more of the message before it.
CONTINUED = "(DETAIL|HINT|LINE [0-9]+|QUERY|CONTEXT|STATEMENT|LOCATION|[A-Z]+ NAME)"
# The lock of an attempt has no place in a question: 3 and 5 are free in its shell, and come back to what they were.
BRIEFLY = f"""\
# The first {MOST_ANSWER_BYTES} bytes of what a command prints; behind it, where it fails, of what it complains of: a
# server may warn each session, and that is no answer. It ends as the command does, which may take 1 GiB of memory. One
# that prints or complains more is ended, also where it takes no notice of a reader that has gone.
briefly() {{
    {{
        {{
            {{
                {{
                    ulimit -v 1048576 2> /dev/null || :
                    ended=0
                    /bin/sh -c 'echo "$$" >&3; exec "$@" 3>&- 5>&-' sh "$@" || ended=$?
                    echo "$ended" >&3
                }} | {{
                    head -c {MOST_ANSWER_BYTES} >&5 3>&-
                    [ "$(head -c 1 | wc -c)" -eq 0 ] || echo {CUT_SHORT} >&3
                }}
            }} 2>&1 | briefly_complains
        }} 3>&1 | briefly_ended
    }} 5>&1
}}
# Whoever may still say how it ended has this one's input open: the complaint comes behind all of that.
briefly_complains() {{
    complaint=$(head -c {MOST_ANSWER_BYTES} 3>&- 5>&-)
    [ "$(head -c 1 | wc -c)" -eq 0 ] || {{ echo {CUT_SHORT} >&3; return; }}
    [ -z "$complaint" ] || printf 'complaint\\n%s\\n' "$complaint" >&3
}}
briefly_ended() {{
    read -r asked || :
    code=
    while read -r ended && [ "$ended" != complaint ]; do
        [ "$code$ended" != {CUT_SHORT} ] || kill "$asked" 2> /dev/null || :
        [ "$code" = {CUT_SHORT} ] || code=$ended
    done
    case $code in 0 | {CUT_SHORT}) cat > /dev/null ;; *) cat ;; esac
    exit "${{code:-2}}"
}}
# The line of an answer that says why there is none: warnings may stand before it. Of a server that speaks another
# language it is the last with a severity, in capitals and before two blanks, as what continues it may have any lines;
# without one, the last that tells no more of the one before it: DETAIL and the like are libpq's words, English here.
briefly_reason() {{
    printf '%s\\n' "$1" | grep -a -m 1 -E '(ERROR|FATAL|PANIC|error): ' || {{
        lines=$(printf '%s\\n' "$1" | grep -a -v -E '^([[:blank:]]|$|{CONTINUED}:)')
        reason=$(printf '%s\\n' "$lines" | grep -a -E '^([^ ]*: )?[^a-z ]+:  ' |
            grep -a -v -E '^([^ ]*: )?{WARNED}:' | tail -n 1)
        [ -n "$reason" ] || reason=$(printf '%s\\n' "$lines" | tail -n 1)
        printf '%s\\n' "${{reason:-$(printf '%s\\n' "$1" | head -n 1)}}"
    }}
}}
"""

# A check's exit code where the data set is right, but a custom script cannot be read.
SCRIPT_REFUSED = 3
# A word of sh, for after a check that failed.
CHECK_FAILED = f'"The check of the $([ $? -eq {SCRIPT_REFUSED} ] && echo scripts || echo data set) failed."'


def tells_of_no_data_set(reason: str) -> bool:
    """Tell whether this is the reason of a check that found another data set, or none."""
    return OTHER_DATA_SET in reason or NO_DATA_SET_TEXT.search(reason) is not None


def unanswered_text(stderr: str) -> str:
    """Return the lines in which a step says that nobody answered it; empty where there are none."""
    return "\n".join(line for line in stderr.splitlines() if line.startswith(f"{NO_ANSWER}: "))


def connection_variables(endpoint: Endpoint, application_name: str) -> dict[str, str]:
    """Return the variables that name the server to libpq, and who asks.

    No address means the socket in the folder that the client programs were built with.
    """
    host = {"PGHOST": endpoint.address} if endpoint.address else {}
    return {
        **host,
        "PGPORT": str(endpoint.port),
        "PGUSER": endpoint.user,
        "PGDATABASE": endpoint.database,
        "PGSSLMODE": SSL_MODES[endpoint.path],
        "PGAPPNAME": application_name,
        "PGCONNECT_TIMEOUT": str(CONNECT_TIMEOUT_S),
        "PGREQUIREAUTH": NEVER_IN_CLEAR,
    }


def program(spec: RunSpec, name: str) -> str:
    return shlex.quote(f"{spec.bin_directory.rstrip('/')}/{name}")


def psql(spec: RunSpec, statement: str = "") -> str:
    """Return psql that prints bare values and stops at errors: of this statement, or of what further words name."""
    words = f"{program(spec, 'psql')} -X -q -A -t -w -v ON_ERROR_STOP=1"
    return f"{words} -c {shlex.quote(statement)}" if statement else words


def verified(spec: RunSpec, kind: str, query: str, expected: str, then: str = "") -> str:
    """Return lines that end with 0 where the query gives the expected line, 1 where not, 2 where nobody can tell.

    Then a sentence is on stderr. The lines of `then` come before that end: they may read and set $rc.
    """
    expected_line = shlex.quote(expected)
    other = f'{OTHER_DATA_SET}: found "%s", expected "%s".'
    return f"""\
{BRIEFLY}rc=0
line=$(briefly {psql(spec, query)}) || rc=$?
first=$(briefly_reason "$line")
[ "$rc" != {CUT_SHORT} ] || first='{TOO_LONG}'
case $rc in
0)  if [ "$line" != {expected_line} ]; then
        printf '{other}\\n' "$line" {expected_line} >&2
        rc=1
    fi ;;
1)  printf '{NO_DATA_SET.format(kind)}: %s\\n' "$first" >&2 ;;
*)  printf '{NO_ANSWER}: %s\\n' "$first" >&2
    rc=2 ;;
esac
{then}(exit "$rc")
"""


def answered(spec: RunSpec) -> str:
    """Return lines that end with 0 where the server takes a connection, 1 where not. Then a sentence is on stderr."""
    return f"""\
{BRIEFLY}answer=$(briefly timeout -k 1 {ANSWER_S} {psql(spec, "SELECT 1")}) || {{
    case $? in {CUT_SHORT}) answer='{TOO_LONG}' ;; {LATE}) answer='{NOT_IN_TIME}' ;; esac
    printf '{NO_ANSWER}: %s\\n' "$(briefly_reason "$answer")" >&2
    exit 1
}}
"""


def is_standby(spec: RunSpec) -> str:
    """Return a command of sh that ends with 0 where the server is a standby, as far as it can be asked."""
    return f'[ "$({psql(spec, "SELECT pg_is_in_recovery()")} 2> /dev/null)" = t ]'


def loaded(spec: RunSpec, load: str, verify: str) -> str:
    """Return lines that carry out `load`; on a standby, which takes none, they `verify` what its primary has sent."""
    return f"""\
if {is_standby(spec)}; then
    echo {shlex.quote(NOT_LOADED)} >&2
    (
{verify.rstrip()}
    ) || {{ rc=$?; echo {shlex.quote(NOT_THERE)} >&2; exit "$rc"; }}
else
{load.rstrip()}
fi"""
