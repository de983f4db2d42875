"""What the collector's one psql session asks a PostgreSQL server: prepared once, then asked once a second.

Which columns there are is asked of the server itself, so that versions differ in what is missing and in nothing else.
It composes the statement of them by itself: psql would carry out a backslash in it, on the driver.
Of locks only who waits for one is counted: to read pg_locks takes every lock of the lock manager, each second.
"""

from __future__ import annotations

from runners.contract import OWN_STATEMENT

from .metrics import VIEWS, names_of

FILTERS = {"pg_stat_database": "WHERE datname = current_database()"}
# What is summed over which rows of pg_stat_io, which is read once.
SUMMED = {
    "pg_stat_io": "object = 'relation'",
    "pg_stat_io_backends": "object = 'relation' AND backend_type NOT IN ('checkpointer', 'background writer')",
    "pg_stat_io_wal": "object = 'wal'",
}
ANSWER_MS = 2000

# Names of what is computed here, and how.
COMPUTED = {
    "activity.active": "(SELECT count(*) FROM a WHERE state = 'active' AND backend_type = 'client backend')",
    "activity.idle_in_transaction": "(SELECT count(*) FROM a WHERE state LIKE 'idle in%')",
    "activity.lock_waits": "(SELECT count(*) FROM a WHERE wait_event_type = 'Lock')",
    "activity.autovacuum_workers": "(SELECT count(*) FROM a WHERE backend_type = 'autovacuum worker')",
    # Who may not see what the checkpointer waits for sees nothing at all, rather than that it waits for nothing.
    "activity.checkpointing": "(SELECT max((wait_event_type <> 'Activity')::int) FROM a"
    " WHERE backend_type = 'checkpointer')",
    "wal.position": "CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_current_wal_lsn() - '0/0'::pg_lsn END",
    "clock.server": "extract(epoch FROM clock_timestamp())::numeric(20, 3)",
    "replication.standbys": "(SELECT nullif(count(*), 0) FROM pg_stat_replication)",
    "replication.lag_bytes": "(SELECT max(sent_lsn - replay_lsn) FROM pg_stat_replication)",
    "replication.lag_s": "(SELECT max(extract(epoch FROM replay_lag)) FROM pg_stat_replication)",
}
WAITS = """\
(SELECT string_agg(translate(event, ' =', '__') || '=' || sessions, ' ') FROM (
    SELECT coalesce(wait_event_type || ':' || wait_event, 'CPU') AS event, count(*) AS sessions FROM a
    WHERE state = 'active' AND backend_type IN ('client backend', 'parallel worker') GROUP BY 1) AS w)"""


def statements() -> str:
    """Return psql text that prepares `sample(text)`, prints who answers and the names, and ends with a line 'end'."""
    computed = " || ' ' || ".join(f"coalesce(({sql})::text, '-')" for sql in COMPUTED.values())
    return f"""\
SET statement_timeout = {ANSWER_MS};
SET jit = off;
DO $do$ DECLARE part text; names text; BEGIN
PERFORM set_config(name, 'none', false) FROM pg_settings WHERE name = 'stats_fetch_consistency';
SELECT string_agg(p.part, ' || '' '' || ' ORDER BY place), string_agg(p.names, ' ' ORDER BY place) INTO part, names
FROM (SELECT min(place) AS place, string_agg(view || '.' || name, ' ' ORDER BY place) AS names,
    format('coalesce((SELECT concat_ws('' '', %s) FROM pg_catalog.%I %s), %L)',
        string_agg(format(value, name), ', ' ORDER BY place), relation, filter,
        trim(repeat('- ', count(*)::int))) AS part
    FROM (VALUES
{_wanted()}) AS wanted (place, relation, view, name, filter, value)
    JOIN pg_catalog.pg_attribute ON attrelid = to_regclass('pg_catalog.' || relation) AND attname = name
        AND NOT attisdropped AND has_table_privilege(attrelid, 'SELECT')
    GROUP BY relation, filter) AS p;
PERFORM set_config('benchhub.names', names, false);
EXECUTE $sql$PREPARE sample(text) AS
WITH {OWN_STATEMENT} a AS (SELECT state, backend_type, wait_event_type, wait_event FROM pg_stat_activity
    WHERE pid <> pg_backend_pid())
SELECT 'pg ' || $1 || ' ' || $sql$ || part || $sql$ || ' ' || {computed}
    || coalesce(E'\\nwait ' || $1 || ' ' || {WAITS}, '') || E'\\nend'$sql$;
END $do$;
SELECT {OWN_STATEMENT} 'server ' || current_setting('server_version_num') || ' ' || pg_backend_pid() || ' '
    || coalesce((SELECT setting FROM pg_settings WHERE name = 'data_directory'), '')
    || E'\\n: pg at ' || current_setting('benchhub.names') || ' {" ".join(COMPUTED)}';
EXECUTE sample(:'at');
"""


def _wanted() -> str:
    rows = [(view, name) for view in VIEWS for name in names_of(view)]
    return ",\n".join(
        f"        ({place}, '{_relation(view)}', '{view}', '{name}', {_literal(FILTERS.get(view, ''))},"
        f" {_literal(_value(view))})"
        for place, (view, name) in enumerate(rows)
    )


def _relation(view: str) -> str:
    return "pg_stat_io" if view in SUMMED else view


def _value(view: str) -> str:
    return (
        f"coalesce((sum(%I) FILTER (WHERE {SUMMED[view]}))::text, '-')" if view in SUMMED else "coalesce(%I::text, '-')"
    )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
