"""What pg_stat_statements counted of a load, where a database has that extension: asked before it and after it.

Statements of data and transactions alone: others, such as ALTER ROLE, stand there with the passwords in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runners.readings import storable_json

MOST_ROWS, MOST_GROWTHS, LONGEST_QUERY = 100, 20, 200
NUMBERS = ("calls", "rows", "total_ms")
COUNTED = "^\\s*(select|insert|update|delete|merge|with|values|begin|start|commit|end|rollback)\\M"
# Its time had another name before 13, and before 9.4 a statement had no number. Without its library the view is an
# error, and so is then the setting not there.
CHOICE = f"""\
coalesce((SELECT format('SELECT ''statement'', row_to_json(s) FROM (SELECT queryid::text AS id,
    left(min(query), {LONGEST_QUERY}) AS query, sum(calls)::float8 AS calls, sum(rows)::float8 AS rows,
    sum(%I)::float8 AS total_ms FROM %s WHERE queryid IS NOT NULL AND query ~* %L
    AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    GROUP BY queryid ORDER BY 5 DESC LIMIT {MOST_ROWS}) AS s', t.attname, c.oid::regclass, '{COUNTED}')
  FROM pg_extension AS e JOIN pg_class AS c ON c.relnamespace = e.extnamespace AND c.relname = e.extname
  JOIN pg_attribute AS t ON t.attrelid = c.oid AND t.attname IN ('total_time', 'total_exec_time')
  JOIN pg_attribute AS q ON q.attrelid = c.oid AND q.attname = 'queryid'
  WHERE e.extname = 'pg_stat_statements' AND EXISTS (SELECT 1 FROM pg_settings WHERE name = 'pg_stat_statements.max')
    AND has_schema_privilege(c.relnamespace, 'USAGE')
    AND has_table_privilege(c.oid, 'SELECT')), 'SELECT 1 WHERE false')"""


def read(pairs: list[tuple[str, str]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the statements of a snapshot by their number; what is no statement is passed over."""
    for name, value in pairs:
        if name == "statement" and (row := _row(value)):
            yield row["id"], row


def _row(text: str) -> dict[str, Any] | None:
    try:
        row = storable_json(text)
    except ValueError:
        return None
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in ("id", "query")):
        return None
    numbers = [row.get(name) for name in NUMBERS]
    is_whole = all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers)
    return {**row, "query": row["query"][:LONGEST_QUERY]} if is_whole else None


def growth(before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return query, calls, rows and milliseconds of what ran in between, the longest in all first.

    A statement that stood below those listed before is left out, since its growth is not known; so is one whose
    counters went back.
    """
    is_complete = len(before) < MOST_ROWS
    zero = dict.fromkeys(NUMBERS, 0)
    rows = [
        {"query": row["query"], **{name: row[name] - before.get(key, zero)[name] for name in NUMBERS}}
        for key, row in after.items()
        if is_complete or key in before
    ]
    risen = [row for row in rows if row["calls"] > 0 and min(row[name] for name in NUMBERS) >= 0]
    return sorted(risen, key=lambda row: -row["total_ms"])[:MOST_GROWTHS]
