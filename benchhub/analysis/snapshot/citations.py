"""The runs and list prices on which a snapshot rests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from . import canonical

LIST_PRICE = re.compile("list price ([0-9]+)")  # as the steps of a price cite it


def runs(document: Mapping[str, Any]) -> set[int]:
    """Return the numbers of the runs behind the levels of a document; a published report has none."""
    tables = [table for table in document.get("tables", ()) if table["id"] == "levels"]
    return {number for table in tables for number in _numbers(table)}


def _numbers(table: Mapping[str, Any]) -> set[int]:
    place = [column["name"] for column in table["columns"]].index("runs")
    return {int(number) for row in table["rows"] for number in row[place].split()}


def list_prices(document: Mapping[str, Any]) -> frozenset[int]:
    """Return the numbers of the list prices behind the prices of a document."""
    sections = [section for section in document.get("sections", ()) if section["id"] == "prices"]
    cited = numbers(canonical.to_bytes({"sections": sections}).decode())
    frozen = document.get("source", {}).get("pricing", {}).get("prices")
    # A remark may speak of any number.
    return cited if frozen is None else cited & {row["id"] for row in frozen}


def frozen_prices(document: Mapping[str, Any]) -> frozenset[int]:
    """Return the numbers of the list prices that prices at a reader's choice may rest on, those of the document too."""
    frozen = document.get("source", {}).get("pricing", {}).get("prices", ())
    return list_prices(document) | {row["id"] for row in frozen}


def numbers(text: str) -> frozenset[int]:
    """Return the numbers of the list prices that a text cites."""
    return frozenset(int(number) for number in LIST_PRICE.findall(text))
