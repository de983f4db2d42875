"""sh text for a pooler in front of a server: through it goes the load alone, and its console says how it pools."""

from __future__ import annotations

import shlex
from dataclasses import replace

from runners.contract import PREPARATION_FAILED, Endpoint, Pooler, RunSpec
from runners.tools.shell import BRIEFLY, CUT_SHORT, NO_ANSWER, TOO_LONG, program

from .settings import SETTINGS

FACTS_FILE = "pooler.log"
CONSOLE = "pgbouncer"  # the database by which PgBouncer's console is reached
MOST_BYTES, MOST_ERROR_BYTES = 64 << 10, 2000
ANSWER_S = 15
LOCAL = ("localhost", "127.0.0.1", "::1")
THROUGH = "through_pooler"
NO_WAY = "The check of the pooler failed."
NOT_IN_TIME = f"It did not answer within {ANSWER_S} s."
NOT_TRIED = "That was the server itself: the pooler was not tried."
ELSEWHERE = "It leads to another server or database than the instance."
# A server by its start and a database by its number: through the pooler they must be the same.
IDENTITY = (
    "SELECT extract(epoch FROM pg_postmaster_start_time())::numeric, oid FROM pg_database"
    " WHERE datname = current_database()"
)
CONSOLE_SQL = r"""
\pset footer off
\pset fieldsep '\037'
\echo '\036pooler_version'
SHOW VERSION;
\echo '\036pooler_config'
SHOW CONFIG;
\echo '\036pooler_databases'
SHOW DATABASES;
\echo '\036pooler_pools'
SHOW POOLS;
"""
# Of databases and pools only those that the load uses: others are somebody else's.
ITS_OWN_AWK = r"""
/^\036/ { section = substr($0, 2); row = 0; print; next }
{ row++ }
section == "pooler_version" || row == 1 { print; next }
section == "pooler_config" { if (index(ENVIRON["pooler_settings"], " " $1 " ")) print; next }
$1 == ENVIRON["pooled_database"] { print }
"""


def endpoints(endpoint: Endpoint, pooler: Pooler | None) -> tuple[Endpoint, ...]:
    """Return the places where the pooler takes the password of the server: the database, and its console."""
    if pooler is None:
        return ()
    pooled = replace(endpoint, address=pooler.address, port=pooler.port)
    return pooled, replace(pooled, database=CONSOLE)


def is_on_driver(pooler: Pooler) -> bool:
    """Tell whether the driver reaches the pooler without a network."""
    return pooler.address.startswith("/") or pooler.address in LOCAL


def function(pooler: Pooler) -> str:
    """Return a shell function after which libpq goes through the pooler: for a subshell.

    TLS is as the pooler has it, or else as the server, but never to one on the driver itself.
    """
    variables = {"PGHOST": pooler.address, "PGPORT": str(pooler.port)}
    if mode := pooler.tls or ("disable" if is_on_driver(pooler) else ""):
        variables["PGSSLMODE"] = mode
    words = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    return f"# The load goes through {pooler.kind}, all else to the server itself.\n{THROUGH}() {{ export {words}; }}\n"


def begin(spec: RunSpec) -> str:
    """Return the step that fails where the pooler does not lead to the server, and else notes what its console says.

    A console that does not answer is no failure: why stands in the file.
    """
    psql = program(spec, "psql")
    check = f"(\n{identity(psql)}) >&2 || fail {PREPARATION_FAILED} {shlex.quote(NO_WAY)}\n"
    return f"step pooler\n{check}(\n{console(psql, spec.endpoint.database, 'pooler.err')}) > {FACTS_FILE}\n"


def identity(psql: str) -> str:
    """Return lines that end with 0 where the pooler leads to the very server and database, else say why on stderr."""
    query = f"timeout -k 1 {ANSWER_S} {psql} -X -q -A -t -w -c {shlex.quote(IDENTITY)}"
    return f"""\
{BRIEFLY}ask_identity() {{
    answer=$(briefly {query}) && {{ printf '%s\\n' "$answer" | tail -n 1; return; }}
    case $? in
    2)  printf '{NO_ANSWER}: %s\\n' "$(printf '%s' "$answer" | tr '\\n\\t' '  ')" ;;
    124) echo '{NO_ANSWER}: {NOT_IN_TIME}' ;;
    {CUT_SHORT}) echo '{NO_ANSWER}: {TOO_LONG}' ;;
    *)  printf '%s\\n' "$answer" ;;
    esac >&2
    return 1
}}
direct=$(ask_identity) || {{ echo '{NOT_TRIED}' >&2; exit 1; }}
{THROUGH}
pooled=$(ask_identity) || exit 1
[ "$direct" = "$pooled" ] || {{ echo '{ELSEWHERE}' >&2; exit 1; }}
"""


def console(psql: str, database: str, errors: str) -> str:
    """Return lines that print, in sections and bounded, what the console says of itself and of one database.

    `errors` is a file for what it refuses, as a word of sh; it is removed.
    """
    return f"""\
{THROUGH}
pooler_settings={shlex.quote(f" {' '.join(SETTINGS)} ")} pooled_database={shlex.quote(database)}
export pooler_settings pooled_database
{{
    PGAPPNAME=benchhub-pooler timeout -k 1 {ANSWER_S} {psql} -X -q -A -w -d {CONSOLE} -f -
    [ $? != 124 ] || echo '{NOT_IN_TIME}' >&2
}} 2> {errors} <<'END_OF_SHOW' |
{CONSOLE_SQL}END_OF_SHOW
    awk -F '\\037' {shlex.quote(ITS_OWN_AWK)} | head -c {MOST_BYTES}
printf '\\036pooler_errors\\n'
tail -c {MOST_ERROR_BYTES} {errors}
rm -f {errors}
"""
