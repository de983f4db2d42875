"""What pg_stat_statements counted of a load, where a database has that extension: asked before it and after it.

Statements of data and transactions of the load's user alone: others, such as ALTER ROLE, stand there with the passwords
in them. No backslash has a place in this SQL: servers may read one as they like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runners.contract import OWN_STATEMENT as OWN
from runners.readings import short, storable_json

MOST_ROWS, MOST_TEXTS, MOST_GROWTHS, LONGEST_QUERY, LONGEST_READ = 5000, 500, 20, 200, 20_000
NUMBERS = ("calls", "rows", "total_ms")
COUNTED = (
    "^([[:space:](]|--[^\n]*\n|/[*]([^*]|[*]+[^*/])*[*]+/)*"
    "(select|insert|update|delete|merge|with|values|begin|start|commit|end|rollback)([^[:alnum:]_]|$)"
)
NO_TEXT = "(the text of statement {} is not shown)"
# A text is not always normalised: after a reset in the midst of a statement it has the literals of one call, and before
# 10 what was sent together has one text. Where it is not plain what is a literal, no text is told.
MIXED = '--|/[*]|"'
DOLLARS = "[$]([^$[:space:]0-9][^$[:space:]]*)?[$]"
TEXT = f"""\
CASE WHEN place > {MOST_TEXTS} OR length(query) > {LONGEST_READ} OR query ~ ';[[:space:]]*[^[:space:];]'
    OR query ~ '{DOLLARS}' OR strpos(query, '''') > 0 AND (strpos(query, chr(92)) > 0 OR query ~ '{MIXED}') THEN NULL
    ELSE left(regexp_replace(query, '''[^'']*''', '''...''', 'g'), {LONGEST_QUERY}) END"""
# For format: the column of time, the view, a condition, when it was reset, how often it dropped statements, whether
# statements within others are counted beside them.
QUERY = f"""\
WITH {OWN} own AS (SELECT queryid::text AS id, min(query) AS query, sum(calls)::float8 AS calls,
    sum(rows)::float8 AS rows, sum(%1$I)::float8 AS total_ms FROM %2$s WHERE queryid IS NOT NULL
    AND query ~* '{COUNTED}' %3$s AND strpos(query, '{OWN}') = 0
    AND userid = (SELECT oid FROM pg_roles WHERE rolname = current_user)
    AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY queryid),
placed AS (SELECT own.*, row_number() OVER (ORDER BY total_ms DESC, id) AS place FROM own)
SELECT 'statements'::text, row_to_json(s) FROM (SELECT (SELECT count(*) FROM own) AS counted, %4$s AS reset_epoch_s,
    %5$s AS dropped, %6$s AS is_nested) AS s
UNION ALL SELECT 'statement'::text, row_to_json(s) FROM (SELECT id, calls, rows, total_ms, {TEXT} AS query
    FROM placed WHERE place <= {MOST_ROWS}) AS s"""
VIEW = "pg_extension AS e JOIN pg_class AS c ON c.relnamespace = e.extnamespace AND c.relname = e.extname"
# A text of another database that this one's encoding lacks makes the whole view an error, as does a missing library or
# right: then nothing is asked but what the error was.
PROBE = f"""\
SET benchhub.has_texts TO 'no';
SET benchhub.no_texts TO '';
DO $do$ BEGIN
    EXECUTE (SELECT format('SELECT count(query) FROM %s', c.oid::regclass) FROM {VIEW}
        WHERE e.extname = 'pg_stat_statements');
    PERFORM set_config('benchhub.has_texts', 'yes', false);
EXCEPTION WHEN OTHERS THEN PERFORM set_config('benchhub.no_texts', left(SQLERRM, {LONGEST_QUERY}), false);
END $do$;
"""
# Its time had another name before 13, before 9.4 a statement had no number, and before 14 none was told from those
# within it. When it was reset is known since 14, too.
CHOICE = f"""\
CASE WHEN current_setting('benchhub.has_texts') <> 'yes' THEN 'SELECT {OWN} ''statements''::text, row_to_json(s)
  FROM (SELECT current_setting(''benchhub.no_texts'') AS unread FROM {VIEW}
    WHERE e.extname = ''pg_stat_statements'') AS s'
ELSE coalesce((SELECT format('{QUERY.replace("'", "''")}', t.attname, c.oid::regclass,
    CASE WHEN l.attname IS NULL THEN '' ELSE 'AND toplevel' END,
    CASE WHEN i.oid IS NULL THEN 'NULL' ELSE format('(SELECT extract(epoch FROM stats_reset) FROM %s)', i.oid::regclass)
        END || '::float8',
    CASE WHEN i.oid IS NULL THEN 'NULL' ELSE format('(SELECT dealloc FROM %s)', i.oid::regclass) END || '::float8',
    (l.attname IS NULL AND current_setting('pg_stat_statements.track') = 'all')::text)
  FROM {VIEW}
  JOIN pg_attribute AS t ON t.attrelid = c.oid AND t.attname IN ('total_time', 'total_exec_time')
  JOIN pg_attribute AS q ON q.attrelid = c.oid AND q.attname = 'queryid'
  LEFT JOIN pg_attribute AS l ON l.attrelid = c.oid AND l.attname = 'toplevel'
  LEFT JOIN pg_class AS i ON i.relnamespace = e.extnamespace AND i.relname = 'pg_stat_statements_info'
  WHERE e.extname = 'pg_stat_statements'), 'SELECT {OWN} 1 WHERE false') END"""


@dataclass(frozen=True, slots=True)
class Statements:
    """Statements of a snapshot by their number, at most MOST_ROWS of `counted`.

    `reset_epoch_s` and `dropped`, how often the server forgot some for want of room, are None where it does not tell.
    `is_nested`: those within others are counted beside these.
    """

    rows: Mapping[str, Mapping[str, Any]]
    counted: int
    reset_epoch_s: float | None
    dropped: float | None
    is_nested: bool


@dataclass(frozen=True, slots=True)
class Unread:
    """Statements that are there and were not read whole: what the server said to that, or nothing."""

    reason: str = ""


def read(pairs: list[tuple[str, str]]) -> Statements | Unread | None:
    """Return the statements of a snapshot, unread where not all that it says it lists are there; None of no list."""
    heads = [value for name, value in pairs if name == "statements"]
    texts = [value for name, value in pairs if name == "statement"]
    if not heads:
        return None
    head = _head(heads[0])
    if len(heads) > 1 or head is None or len(texts) != min(head["counted"], MOST_ROWS):
        return Unread(_reason(heads[0]))
    rows = {row["id"]: row for row in map(_row, texts) if row}
    return Statements(rows, **head) if len(rows) == len(texts) else Unread()


def _reason(text: str) -> str:
    reason = _json(text).get("unread")
    return short(" ".join(reason.split()), LONGEST_QUERY) if isinstance(reason, str) else ""


def _json(text: str) -> dict[str, Any]:
    try:
        row = storable_json(text)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _head(text: str) -> dict[str, Any] | None:
    head = _json(text)
    numbers = {name: head.get(name) for name in ("reset_epoch_s", "dropped")}
    is_whole = isinstance(head.get("counted"), int) and all(n is None or _is_number(n) for n in numbers.values())
    return {"counted": head["counted"], **numbers, "is_nested": head.get("is_nested") is True} if is_whole else None


def _row(text: str) -> dict[str, Any] | None:
    row = _json(text)
    query = row.get("query")
    if not isinstance(row.get("id"), str) or not all(_is_number(row.get(name)) for name in NUMBERS):
        return None
    text = query[:LONGEST_QUERY] if isinstance(query, str) else NO_TEXT.format(row["id"])
    return {"id": row["id"], "query": text, **{name: row[name] for name in NUMBERS}}


def growth(
    before: Statements | Unread | None, after: Statements | Unread | None, remarks: list[str]
) -> list[dict[str, Any]]:
    """Return query, calls, rows and milliseconds of what ran in between, the longest in all first.

    What cannot be said, and why, is added to `remarks`.
    """
    if not isinstance(before, Statements) or not isinstance(after, Statements):
        remarks.extend([_unread_text(before, after)] if before or after else [])
        return []
    if before.reset_epoch_s != after.reset_epoch_s:
        remarks.append("pg_stat_statements was reset in between: its counters say nothing.")
        return []
    remarks.extend(_remarks(before, after))
    zero = dict.fromkeys(NUMBERS, 0)
    rows = [
        {"query": row["query"], **{name: row[name] - before.rows.get(key, zero)[name] for name in NUMBERS}}
        for key, row in after.rows.items()
        if key in before.rows or before.counted <= MOST_ROWS
    ]
    risen = [row for row in rows if row["calls"] > 0 and min(row[name] for name in NUMBERS) >= 0]
    return sorted(risen, key=lambda row: -row["total_ms"])[:MOST_GROWTHS]


def _unread_text(*sides: Statements | Unread | None) -> str:
    whens = [when for when, side in zip(("before", "after"), sides, strict=True) if not isinstance(side, Statements)]
    reason = next((f": {side.reason}" for side in sides if isinstance(side, Unread) and side.reason), ".")
    return f"No statements: they could not be read {' and '.join(whens)} the run{reason}"


def _remarks(before: Statements, after: Statements) -> Iterator[str]:
    """Yield a sentence for whatever makes the growth of statements less than it was."""
    if most := max(0, before.counted - MOST_ROWS, after.counted - MOST_ROWS):
        yield f"pg_stat_statements: the {most} shortest in all of its statements were left out."
    if before.dropped != after.dropped:
        yield "pg_stat_statements had no room in between and forgot statements: some of what ran may be missing."
    went_back = [key for key in before.rows.keys() & after.rows if _is_less(after.rows[key], before.rows[key])]
    if went_back:
        yield f"pg_stat_statements: {len(went_back)} of its statements went back in between and were left out."
    # No reset of a single statement can be seen, nor before 14 that of all: what has counted further by now is no less.
    is_lost = went_back or (after.counted <= MOST_ROWS and not before.rows.keys() <= after.rows.keys())
    # Those that it had no room for are missing, too.
    if is_lost and before.dropped == after.dropped:
        least = "at least so many calls ran" if after.is_nested else "at least so much ran"
        yield f"pg_stat_statements lost some in between, as by a reset: {least} as it lists."
    if after.is_nested:
        yield "pg_stat_statements counts statements within functions, too: their time stands in the list twice."


def _is_less(row: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    return any(row[name] < earlier[name] for name in NUMBERS)
