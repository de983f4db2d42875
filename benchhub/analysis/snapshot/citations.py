"""The runs on which a snapshot rests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def runs(document: Mapping[str, Any]) -> set[int]:
    """Return the numbers of the runs behind the levels of a document; a published report has none."""
    tables = [table for table in document.get("tables", ()) if table["id"] == "levels"]
    return {number for table in tables for number in _numbers(table)}


def _numbers(table: Mapping[str, Any]) -> set[int]:
    place = [column["name"] for column in table["columns"]].index("runs")
    return {int(number) for row in table["rows"] for number in row[place].split()}
