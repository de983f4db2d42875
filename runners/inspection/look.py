"""Look at a server from its driver over SSH."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from runners.confinement import apart
from runners.contract import Endpoint, Pooler
from runners.job import here_document, sensible
from runners.password_file import password_lines
from runners.poolers import script as pooler_script
from runners.server_settings.parameters import IN_FORCE_QUERY
from runners.ssh import Connections, RemoteFailure, Target
from runners.tools.shell import NEVER_IN_CLEAR, UNSET

from .answer import LONGEST_TEXT, Seen, read_answer

SCRIPT = Path(__file__).parent.parent / "target" / "inspect.sh"
TIMEOUT_S, CONNECT_TIMEOUT_S = 45.0, 10
MOST_BYTES = 1 << 18
APPLICATION_NAME = "benchhub-inspection"
# What the tools make themselves: a database that holds more may be somebody's.
OWN_TABLES = (
    "^(pgbench_(accounts|branches|tellers|history)(_[0-9]+)?|sbtest[0-9]*|subscriber|access_info|special_facility"
    "|call_forwarding|benchhub_.*)$"
)
# A setting that the role may not see is null.
QUERY = f"""\
SELECT row_to_json(r) FROM (SELECT
    current_setting('server_version') AS version, current_setting('server_version_num')::int AS version_num,
    current_schema() AS schema, has_schema_privilege(current_schema(), 'CREATE') AS may_create,
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS is_superuser,
    (SELECT bool_or(pg_has_role(oid, 'member')) FROM pg_roles WHERE rolname = 'pg_monitor') AS is_monitor,
    (SELECT bool_or(pg_has_role(oid, 'member')) FROM pg_roles WHERE rolname = 'pg_checkpoint') AS may_checkpoint,
    pg_is_in_recovery() AS is_standby, (SELECT count(*) FROM pg_stat_replication) AS standbys,
    (SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_stat_statements' AND installed_version IS NOT NULL)
        AS statements,
    (SELECT json_object_agg(name, setting) FROM pg_settings WHERE name IN ('data_checksums', 'fsync',
        'full_page_writes', 'synchronous_commit', 'max_connections', 'allow_alter_system')) AS settings,
    (SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL) AS sessions,
    (SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind IN ('r', 'p')
        AND nspname NOT IN ('pg_catalog', 'pg_toast', 'information_schema') AND nspname !~ '^pg_(toast_)?temp_'
        AND relname !~ '{OWN_TABLES}') AS other_tables) AS r"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is looked at from its driver: the programs there, and the data directory where it is known.

    `is_here`: the server runs on that very host. `is_granted`: runs may change its settings. `restart` are the words of
    the command by which it is restarted; it is not carried out. `pooler` is tried as well.
    """

    endpoint: Endpoint
    bin_directory: str
    data_directory: str = ""
    is_here: bool = False
    is_granted: bool = False
    restart: tuple[str, ...] = ()
    pooler: Pooler | None = None


async def look(connections: Connections, target: Target, place: Place, password: str | None) -> Seen:
    """Return what the driver sees of the server; a log-in that fails is in `errors`.

    Raises RemoteFailure with what the host refused, ValueError for a password that is not one line, and as
    `Connections.run`.
    """
    text = _text(place, password)
    answer = await connections.run(
        target, "exec /bin/sh -s", input=text.encode(), timeout_s=TIMEOUT_S, most_bytes=MOST_BYTES
    )
    with sensible(target, answer):
        sight = await apart(read_answer, answer, place.endpoint.user)
    if isinstance(sight, str):
        raise RemoteFailure(sight, None)
    return sight


def _text(place: Place, password: str | None) -> str:
    endpoint = place.endpoint
    variables = {
        "LC_ALL": "C",
        "PGPORT": str(endpoint.port),
        "PGUSER": endpoint.user,
        "PGAPPNAME": APPLICATION_NAME,
        "PGCONNECT_TIMEOUT": str(CONNECT_TIMEOUT_S),
        "PGREQUIREAUTH": NEVER_IN_CLEAR,
        **({"PGHOST": endpoint.address} if endpoint.address else {}),
    }
    words = {
        "bin_directory": place.bin_directory.rstrip("/"),
        "database": endpoint.database,
        "query": QUERY,
        "here": "yes" if place.is_here else "no",
        "folder": place.data_directory,
        "granted": "yes" if place.is_granted else "no",
        "parameters_query": IN_FORCE_QUERY,
    }
    lines = [f"unset {UNSET}", *(f"export {name}={shlex.quote(value)}" for name, value in variables.items())]
    lines += [f"{name}={shlex.quote(value)}" for name, value in words.items()]
    lines.append(f"look_at_command() {{ look_at {shlex.join(place.restart)}; }}")
    lines.append(_pooler_text(place))
    # Of each database that is tried, the one of the server itself among them.
    endpoints = [endpoint, Endpoint(endpoint.path, endpoint.address, endpoint.port, "postgres", endpoint.user)]
    endpoints += pooler_script.endpoints(endpoint, place.pooler)
    passwords = "".join(password_lines(each, password) for each in endpoints) if password else ""
    writing = here_document("cat", passwords) if passwords else ":"
    # Read whole before anything runs: a look whose connection breaks half way does nothing.
    return "\n".join(["{", *lines, f"write_password() {{\n{writing}\n}}", SCRIPT.read_text(), "exit", "}", ""])


def _pooler_text(place: Place) -> str:
    """Return the shell function that tries the pooler: whether it leads to the server, and how it pools."""
    if place.pooler is None:
        return "look_at_pooler() { :; }"
    psql, database = '"$bin_directory/psql"', place.endpoint.database
    return f"""\
{pooler_script.function(place.pooler)}look_at_pooler() {{
section pooler_way
(
bounded
export PGDATABASE={shlex.quote(database)}
{pooler_script.identity(psql)}) > "$home/pooler.way" 2>&1 || {{
    [ -s "$home/pooler.way" ] || echo 'psql said nothing about it.' > "$home/pooler.way"
    tail -c {LONGEST_TEXT} "$home/pooler.way"
}}
(
bounded
{pooler_script.console(psql, database, '"$home/pooler.err"')})
}}"""
