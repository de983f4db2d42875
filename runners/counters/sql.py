"""What a snapshot asks a PostgreSQL server: statistics, position in WAL, identity, settings. For psql 9.3 or newer.

The server itself prepares what its version has. Its answers never become text that psql reads, in which a backslash
would run a command on the driver.
"""

from __future__ import annotations

from runners.contract import OWN_STATEMENT as OWN
from runners.server_settings.mark import IS_HELD_QUERY

from . import statements

# Each of one row.
VIEWS = ("pg_stat_bgwriter", "pg_stat_checkpointer", "pg_stat_wal")
STATISTICS = (*VIEWS, "pg_stat_database")
# Since which server_version_num a view exists; an older server is no reason for a remark.
SINCE = {"pg_stat_checkpointer": 170000, "pg_stat_wal": 140000}
# They may hold passwords.
HIDDEN_SETTINGS = (
    "primary_conninfo",
    "ssl_passphrase_command",
    "archive_command",
    "restore_command",
    "archive_cleanup_command",
    "recovery_end_command",
)

# Servers before 15 publish statistics through a file that may be half a second old.
WAIT_SQL = """\
SET benchhub.awaited TO :'awaited';
DO $$ BEGIN
    FOR i IN 1..40 LOOP
        PERFORM pg_stat_clear_snapshot();
        EXIT WHEN NOT EXISTS (
            SELECT 1 FROM pg_stat_activity WHERE application_name = current_setting('benchhub.awaited'));
        PERFORM pg_sleep(0.05);
    END LOOP;
    IF current_setting('server_version_num')::int < 150000 THEN PERFORM pg_sleep(0.6); END IF;
END $$;
"""

SERVER_SQL = f"""\
SELECT {OWN} 'server', row_to_json(s) FROM (SELECT version() AS version,
    current_setting('server_version_num')::int AS server_version_num,
    extract(epoch FROM pg_postmaster_start_time())::float8 AS postmaster_start_epoch_s,
    extract(epoch FROM clock_timestamp())::float8 AS epoch_s,
    pg_is_in_recovery() AS in_recovery, current_database() AS database) AS s;
SELECT {OWN} 'pg_stat_database', row_to_json(d) FROM pg_stat_database AS d WHERE datname = current_database();
SELECT {OWN} 'is_held', to_json(({IS_HELD_QUERY}));
"""


def snapshot_sql() -> str:
    """Return psql text that prints one 'name|JSON' a line, of what this version of the server has."""
    views = [_if_there(name, f"SELECT {OWN} '{name}', row_to_json(v) FROM {name} AS v") for name in VIEWS]
    choices = [*views, _wal_sql(), _identifier_sql(), _settings_sql()]
    queries = "".join(_run_query(f"benchhub_{number}", choice) for number, choice in enumerate(choices))
    return WAIT_SQL + SERVER_SQL + queries + statements.PROBE + _run_query("benchhub_statements", statements.CHOICE)


def _run_query(name: str, choice: str) -> str:
    """Return SQL that runs the query which `choice`, an SQL expression, gives, under a name of its own."""
    return f"DO $do$ BEGIN EXECUTE 'PREPARE {name} AS ' || {choice}; END $do$;\nEXECUTE {name};\n"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


NOTHING = _literal(f"SELECT {OWN} 1 WHERE false")


def _if_there(view: str, query: str) -> str:
    exists_sql = f"EXISTS (SELECT 1 FROM pg_views WHERE schemaname = 'pg_catalog' AND viewname = '{view}')"
    return f"CASE WHEN {exists_sql} THEN {_literal(query)} ELSE {NOTHING} END"


def _wal_sql() -> str:
    new = _literal(f"SELECT {OWN} 'wal_position', to_json(pg_current_wal_lsn()::text)")
    old = _literal(f"SELECT {OWN} 'wal_position', to_json(pg_current_xlog_location()::text)")
    is_new = "current_setting('server_version_num')::int >= 100000"
    return f"CASE WHEN pg_is_in_recovery() THEN {NOTHING} WHEN {is_new} THEN {new} ELSE {old} END"


def _identifier_sql() -> str:
    exists_sql = "EXISTS (SELECT 1 FROM pg_proc WHERE proname = 'pg_control_system')"
    is_allowed_sql = "has_function_privilege('pg_control_system()', 'execute')"
    query = _literal(f"SELECT {OWN} 'system_identifier', to_json(system_identifier::text) FROM pg_control_system()")
    inner = f"CASE WHEN {is_allowed_sql} THEN {query} ELSE {NOTHING} END"
    return f"CASE WHEN {exists_sql} THEN {inner} ELSE {NOTHING} END"


def _settings_sql() -> str:
    hidden = ", ".join(map(_literal, HIDDEN_SETTINGS))
    setting_sql = f"CASE WHEN setting <> '' AND name IN ({hidden}) THEN '(hidden)' ELSE setting END AS setting"
    query = (
        f"SELECT {OWN} 'setting', row_to_json(s) FROM (SELECT name, {setting_sql}, unit, source{{}} FROM pg_settings"
        " WHERE name NOT LIKE 'benchhub.%' ORDER BY name) AS s"
    )
    is_new = "current_setting('server_version_num')::int >= 90500"
    new, old = _literal(query.format(", pending_restart")), _literal(query.format(""))
    return f"CASE WHEN {is_new} THEN {new} ELSE {old} END"
