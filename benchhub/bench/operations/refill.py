"""Fill the tables that migrations made with the rows of a dump: each statement is made here, of names of our own.

Triggers, indexes and foreign keys are away meanwhile, and come back as the migrations defined them: what does not obey
them undoes all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import connection
from psycopg import sql

from .dump import DumpError, Position, Rows

# Which migrations there are is what made the tables; whoever was signed in signs in anew.
NOT_FILLED = frozenset({"django_migrations", "django_session"})
COLUMNS = """\
SELECT c.relname, array_agg(a.attname::text) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND attnum > 0 AND NOT attisdropped
AND attgenerated = '' GROUP BY c.relname"""
SEQUENCES = """\
SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'S'
AND relname <> 'django_migrations_id_seq'"""
RELATIONS = """\
SELECT CASE nspname WHEN 'public' THEN '' ELSE nspname || '.' END || relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE relkind IN ('r', 'p', 'm', 'f') AND relpersistence <> 't' AND nspname NOT LIKE 'pg\\_%'
AND nspname <> 'information_schema'"""
FOREIGN_KEYS = """\
SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = 'public'::regnamespace AND contype = 'f' ORDER BY conname"""
# Those of an expression or a condition stay: the server does not write them down as they were defined.
INDEXES = """\
SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = 'public'::regnamespace
AND indpred IS NULL AND indexprs IS NULL
AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid) ORDER BY c.relname"""
ROUTINES = "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace"


def refill(parts: Iterable[Rows | Position]) -> None:
    """Replace the rows of all tables, within the caller's transaction. Raises DumpError and errors of the warehouse."""
    columns = {table: frozenset(names) for table, names in _query(COLUMNS) if table not in NOT_FILLED}
    sequences = {name for (name,) in _query(SEQUENCES)}
    missing = set(columns)
    with _bare(list(columns)):
        for part in parts:
            if isinstance(part, Position):
                _go_on(part, sequences)
            else:
                _require_table(part, columns, missing)
                missing.remove(part.table)
                _copy(part)
    if missing:
        raise DumpError(f"it lacks the table {min(missing)}")


def names() -> set[str]:
    """Return the tables and sequences that a dump may fill."""
    return {table for table, _ in _query(COLUMNS)} - NOT_FILLED | {name for (name,) in _query(SEQUENCES)}


def strangers(tables: set[str]) -> set[str]:
    """Return what else than these tables of BenchHub's holds rows in the database."""
    return {name for (name,) in _query(RELATIONS)} - tables - NOT_FILLED


def routines() -> set[str]:
    """Return the functions of the database, with the types of their parameters."""
    return {name for (name,) in _query(ROUTINES)}


def empty(routines_before: set[str]) -> None:
    """Remove all tables, and the functions that were not there before."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(sql.Identifier(table)))
        for routine in sorted(routines() - routines_before):
            cursor.execute(f"DROP ROUTINE IF EXISTS {routine} CASCADE")


def _query(query: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def _execute(statements: Iterable[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@contextmanager
def _bare(tables: list[str]) -> Iterator[None]:
    """Empty the tables, and take off for a while what would slow their rows down or refuse their order."""
    keys, indexes = _query(FOREIGN_KEYS), _query(INDEXES)
    _execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER' for table in tables)
    _execute(["TRUNCATE {}".format(", ".join(f'"{table}"' for table in [*tables, "django_session"]))])
    _execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}" for table, name, _ in keys)
    _execute(f"DROP INDEX {name}" for name, _ in indexes)
    yield
    _execute(["SET CONSTRAINTS ALL IMMEDIATE"])
    _execute(definition for _, definition in indexes)
    _execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}" for table, name, definition in keys)
    _execute(f'ALTER TABLE "{table}" ENABLE TRIGGER USER' for table in tables)


def _require_table(rows: Rows, columns: Mapping[str, frozenset[str]], missing: set[str]) -> None:
    """Raise DumpError unless the table is ours, has exactly these columns, and was not filled before."""
    if rows.table not in columns:
        raise DumpError(f"it has a table that BenchHub has not: {rows.table}")
    if rows.table not in missing or len(set(rows.columns)) != len(rows.columns):
        raise DumpError(f"it has the table {rows.table}, or a column of it, twice")
    if strange := columns[rows.table] ^ set(rows.columns):
        raise DumpError(f"the columns of its table {rows.table} are others: {min(strange)}")


def _copy(rows: Rows) -> None:
    names = sql.SQL(", ").join(map(sql.Identifier, rows.columns))
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier("public", rows.table), names)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for piece in rows.pieces:
            copy.write(piece)


def _go_on(position: Position, sequences: set[str]) -> None:
    if position.sequence not in sequences:
        raise DumpError(f"it has a sequence that BenchHub has not: {position.sequence}")
    values: list[str | int] = [f'public."{position.sequence}"', position.value, position.is_called]
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval(%s::regclass, %s, %s)", values)
