"""Plans of the statements that pages and lists send, and what in them goes through the runs of all years."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import connection

from benchhub.bench.models import Attempt, Result, Run

TABLES = tuple(model._meta.db_table for model in (Run, Attempt, Result))
MOST_READ = 5_000  # rows of an index, to find the few that a page shows
Node = Mapping[str, Any]
# Whatever is below them is read to its end before a row comes out, however few are wanted.
READ_TO_THE_END = {"Sort", "Aggregate", "Hash", "Materialize", "BitmapAnd", "BitmapOr"}


class PlannedError(Exception):
    """Ends what sends a statement, once that is planned."""


@contextmanager
def plans(*, is_run: bool = True) -> Iterator[list[Node]]:
    """Yield the plans of the statements on runs sent meanwhile; those that are not run raise PlannedError."""
    nodes: list[Node] = []

    def plan(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("EXPLAIN"):
            return execute(sql, params, many, context)
        if sql.lstrip().startswith(("SELECT", "WITH")) and any(table in sql for table in TABLES):
            nodes.append(planned(sql, params))
        if not is_run:
            raise PlannedError
        return execute(sql, params, many, context)

    with connection.execute_wrapper(plan):
        yield nodes


def planned(sql: str, params: Any = None) -> Node:
    """Return the root of the plan of a statement, which is not run."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
        [[statement]] = cursor.fetchone()
    node: Node = statement["Plan"]
    return node


def sorts(plan: Node, most: int) -> list[str]:
    """Name the sorts of more rows than so many, by what the planner expects."""
    nodes = [node for node, _ in _nodes(plan) if node["Node Type"] == "Sort" and node["Plan Rows"] > most]
    return [f"{node['Plan Rows']:,} rows are sorted by {', '.join(node['Sort Key'])}" for node in nodes]


def scans(plan: Node, sizes: Mapping[str, int]) -> list[str]:
    """Name the tables of runs that are read as a whole, and the indexes of which much is read for few rows.

    `sizes` has the rows of each index.
    """
    return [text for node, share in _nodes(plan) if (text := _scan(node, share, sizes))]


def _scan(node: Node, share: float, sizes: Mapping[str, int]) -> str:
    if node["Node Type"] == "Seq Scan" and node["Relation Name"] in TABLES:
        return f"all of {node['Relation Name']} is read"
    is_searched = "Index Name" not in node or "Index Cond" in node or "Filter" not in node
    rows = 0 if is_searched else share * sizes[node["Index Name"]]
    return f"{rows:,.0f} rows of {node['Index Name']} are read for {node['Filter']}" if rows > MOST_READ else ""


def _nodes(node: Node, share: float = 1.0) -> Iterator[tuple[Node, float]]:
    """Yield the nodes of a plan, each with the share of its rows that is read before a limit ends it."""
    yield node, share
    for below in node.get("Plans", ()):
        if node["Node Type"] == "Limit":
            yield from _nodes(below, share * min(1.0, node["Plan Rows"] / max(1, below["Plan Rows"])))
        else:
            yield from _nodes(below, 1.0 if node["Node Type"] in READ_TO_THE_END else share)


def index_sizes() -> dict[str, int]:
    """Return the rows of each index by its name, as the database counted them last."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname, reltuples::bigint FROM pg_class WHERE relkind = 'i'")
        return dict(cursor.fetchall())
