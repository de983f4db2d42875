"""How an attempt changes settings of a server that is somebody's, and puts back what was there before."""

from __future__ import annotations

import shlex
from pathlib import Path

from runners.clusters.script import sql_literal, unmet_query
from runners.contract import PREPARATION_FAILED, RunSpec, ServerSettings
from runners.tools.shell import NO_ANSWER, UNSET, connection_variables

from .answer import HELD
from .mark import HOLDER_QUERY, MARK
from .parameters import OVERRIDING

FILE, LOOK_FILE = "server_settings.sh", "server_mark.sh"
SCRIPTS = Path(__file__).parent.parent / "target"
# Longer than a run by what comes after its deadline; a run without one that hangs is put back after a day.
LONGER_S, WITHOUT_DEADLINE_S = 1800, 86_400
APPLICATION_NAME = "benchhub-settings"
NOT_APPLIED = "The settings of the server were not applied."
BEGIN = f"""\
. ./{FILE}
trap 'exit 143' TERM INT HUP
trap server_end EXIT
step settings
server_begin || fail {PREPARATION_FAILED} '{NOT_APPLIED}'
"""
# What ALTER SYSTEM has set, as it stands in its file.
AUTO = (
    "(SELECT DISTINCT ON (lower(name)) lower(name) AS name, setting FROM pg_file_settings"
    " WHERE sourcefile LIKE '%/postgresql.auto.conf' AND name IS NOT NULL ORDER BY lower(name), seqno DESC)"
)
SOURCES = ", ".join(map(sql_literal, OVERRIDING))
NO_SUPERUSER = "The role may not change settings of the server: it is no superuser."
ALTERED = "is set by the ' || source || ' of the server, which ALTER SYSTEM does not override."
# The second fails, as a role is there once; its comment says who was the first. It must outlast what it protects.
MARK_QUERY = f"""\
BEGIN;
SET LOCAL synchronous_commit = local;
CREATE ROLE {MARK} NOLOGIN;
COMMENT ON ROLE {MARK} IS :'mark';
COMMIT;"""
UNMARK_QUERY = f"""\
SELECT 'DROP ROLE {MARK}' FROM pg_roles
WHERE rolname = '{MARK}' AND shobj_description(oid, 'pg_authid') = :'mark' \\gexec"""
# What the server writes down of itself is read by psql again, for which a backslash outside a literal is a command that
# it carries out here: so these forms, of whole lines, and no other. The server says in which encoding psql reads them,
# and in some of those a byte beyond ASCII swallows the quote or backslash behind it: so neither has a place in
# them. No setting that runs may change has a value which needs one.
LITERAL = r"'([] -&(-[^-~]|'')*'"
STATEMENT_FORM = rf'ALTER SYSTEM (RESET "?[A-Za-z0-9_]+"?|SET "?[A-Za-z0-9_]+"? TO {LITERAL});'
ROW_FORM = rf"\({LITERAL}, (NULL|{LITERAL})::text, (NULL|{LITERAL})\)"
STANDBY = "The server is a standby, which takes no mark: settings are changed on a primary alone."
FEWER = "there by now, and runs only raise it."
PENDING = "waits for a restart already, which would put it in force: restart the server first."
STANDBYS = "of a server with standbys is left alone: they stop where theirs is smaller."
EDITED = "was edited since the server read it, and a reload would put that in force: reload the server first."


def files(spec: RunSpec) -> dict[str, str]:
    """Return the files that an attempt needs beside command.sh, to change settings of the server or to see whether
    another one has; none where the server is BenchHub's own cluster.
    """
    if spec.server_settings is None:
        return {} if spec.cluster else {LOOK_FILE: _look_text(spec)}
    return {FILE: "\n".join([_values(spec, spec.server_settings), _functions(spec, spec.server_settings), _text(FILE)])}


def _look_text(spec: RunSpec) -> str:
    place = f"server_bin={shlex.quote(spec.bin_directory.rstrip('/'))}"
    return "\n".join([place, _connection(spec), _here("server_sql_holder", HOLDER_QUERY), _text(LOOK_FILE)])


def put_back_function() -> str:
    """Return sh text of server_settings_back: it puts back what an earlier attempt left, and says why it cannot."""
    return _text("server_put_back.sh")


def _values(spec: RunSpec, change: ServerSettings) -> str:
    seconds = spec.deadline_s + LONGER_S if spec.deadline_s else spec.expected_s + WITHOUT_DEADLINE_S
    values = {
        "server_bin": spec.bin_directory.rstrip("/"),
        "server_seconds": str(seconds),
        "server_count": str(len(change.settings)),
        "server_pattern": "|".join(change.settings) or "-",
        "server_held": HELD,
        "server_no_answer": NO_ANSWER,
        "server_statement_form": STATEMENT_FORM,
        "server_rows_form": f"({ROW_FORM}(, {ROW_FORM})*)?",
        "server_restarts": "yes" if change.restart else "",
    }
    return "\n".join(f"{name}={shlex.quote(value)}" for name, value in values.items())


def _functions(spec: RunSpec, change: ServerSettings) -> str:
    names = ", ".join(map(sql_literal, change.settings)) or "NULL"
    statements = {
        "set": "\n".join(f'ALTER SYSTEM SET "{name}" TO {_literal(value)};' for name, value in change.settings.items()),
        "rights": f"SELECT '{NO_SUPERUSER}' WHERE NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)",
        "refusals": _refusals(names, change),
        "mark": MARK_QUERY,
        "holder": HOLDER_QUERY,
        "unmark": UNMARK_QUERY,
        "restore": _restore(names),
        "rows": _rows(names),
        "unmet": unmet_query(change.settings, change.settings_in_force) if change.settings_in_force else "",
        "values": f"SELECT name || ' ' || replace(current_setting(name), E'\\n', ' ') FROM pg_settings"
        f" WHERE name IN ({names}) ORDER BY name",
    }
    return "\n".join(
        [
            _connection(spec),
            f'server_command() {{ "$@" {shlex.join(change.restart)}; }}',
            *(_here(f"server_sql_{name}", statement) for name, statement in statements.items()),
            _left(),
        ]
    )


def _connection(spec: RunSpec) -> str:
    variables = {"LC_ALL": "C", **connection_variables(spec.endpoint, APPLICATION_NAME)}
    exports = "\n".join(f"    export {name}={shlex.quote(value)}" for name, value in variables.items())
    return f"server_connection() {{\n    unset {UNSET}\n{exports}\n}}"


def _here(name: str, statement: str) -> str:
    return f"{name}() {{\ncat << 'END_OF_SQL'\n{statement}\nEND_OF_SQL\n}}"


def _refusals(names: str, change: ServerSettings) -> str:
    """Return SQL that gives a sentence for whatever speaks against changing the settings right now."""
    connections = change.settings_in_force.get("max_connections", "")
    fewer = (
        f" UNION ALL SELECT name || ' is ' || setting || ' {FEWER}' FROM pg_settings"
        f" WHERE CASE name WHEN 'max_connections' THEN setting::int > {int(connections or 0)} END"
    )
    standbys = (
        f" UNION ALL SELECT name || ' {STANDBYS}' FROM pg_settings WHERE name IN ({names})"
        " AND name = 'max_connections' AND EXISTS (SELECT FROM pg_stat_replication)"
    )
    pending = f" UNION ALL SELECT name || ' {PENDING}' FROM pg_settings WHERE pending_restart"
    return (
        f"SELECT name || ' {ALTERED}' FROM pg_settings WHERE name IN ({names}) AND source IN ({SOURCES})"
        f" UNION ALL SELECT sourcefile || ' {EDITED}' FROM (SELECT DISTINCT sourcefile FROM pg_file_settings"
        f" WHERE sourcefile IS NOT NULL) AS f WHERE (pg_stat_file(sourcefile)).modification > pg_conf_load_time()"
        f" UNION ALL SELECT '{STANDBY}' WHERE pg_is_in_recovery()"
        f"{standbys}{fewer if connections else ''}{pending if change.restart else ''}"
    )


def _restore(names: str) -> str:
    """Return SQL that gives the statements by which ALTER SYSTEM has what it has now."""
    return (
        "SELECT CASE WHEN a.setting IS NULL THEN format('ALTER SYSTEM RESET %I;', s.name)"
        " ELSE format('ALTER SYSTEM SET %I TO %L;', s.name, a.setting) END"
        f" FROM pg_settings AS s LEFT JOIN {AUTO} AS a ON a.name = lower(s.name) WHERE s.name IN ({names})"
    )


def _rows(names: str) -> str:
    return (
        "SELECT string_agg(format('(%L, %L::text, %L)', s.name, a.setting, s.setting), ', ')"
        f" FROM pg_settings AS s LEFT JOIN {AUTO} AS a ON a.name = lower(s.name) WHERE s.name IN ({names})"
    )


def _left() -> str:
    """Return sh text that prints SQL: a sentence for each of the rows of before that is not as it was."""
    head = (
        "SELECT b.name || ' is ' || coalesce(s.setting, 'absent') || ' and was ' || b.setting"
        " || CASE WHEN a.setting IS DISTINCT FROM b.auto THEN ' (postgresql.auto.conf differs)' ELSE '' END || '.'"
        " FROM (VALUES"
    )
    tail = (
        f") AS b(name, auto, setting) LEFT JOIN pg_settings AS s ON s.name = b.name LEFT JOIN {AUTO} AS a"
        " ON a.name = lower(b.name) WHERE s.setting IS DISTINCT FROM b.setting OR a.setting IS DISTINCT FROM b.auto"
    )
    return f"server_sql_left() {{ printf '%s\\n' {shlex.quote(head)} \"$1\" {shlex.quote(tail)}; }}"


def _literal(value: str) -> str:
    """Return the value as a literal that reads the same in any encoding, whatever is done with backslashes."""
    if not (value.isascii() and value.isprintable()) or "\\" in value:
        raise ValueError("The value of a setting is one line of printable ASCII, without backslashes.")
    return sql_literal(value)


def _text(name: str) -> str:
    return (SCRIPTS / name).read_text()
