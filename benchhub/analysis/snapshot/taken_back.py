"""Say of published prices that a list price behind them was taken back since. No number changes.

A document is marked before it is projected: only the whole one knows what each price rests on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from benchhub.analysis.words import listing, word

from . import nodes
from .citations import numbers
from .nodes import Node

COLUMN = "list_price_taken_back"


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A list price by its number in the warehouse, and the day on which it was taken back."""

    number: int
    on: date


def marked(document: Node, prices: Sequence[TakenBack]) -> Node:
    """Return the document with a note at each price that rests on one of these list prices, and a sentence of those.

    It is the document itself where no price rests on any.
    """
    sections = [_section(section, prices) for section in document["sections"]]
    if sections == document["sections"]:
        return document
    tables = [_data(table, prices) for table in document["tables"]]
    return {
        **document,
        "sections": sections,
        "tables": tables,
        "taken_back": _sentence(_cited(_steps(document), prices)),
    }


def _steps(document: Node) -> Iterator[str]:
    """Yield the steps of all prices in tables of the page."""
    blocks = (block for section in document["sections"] for block in section["blocks"] if block["kind"] == "table")
    for row in (row for block in blocks for row in block["rows"]):
        for cell in row["cells"]:
            yield from _items(cell)


def _items(cell: Node) -> Sequence[str]:
    items: Sequence[str] = cell.get("steps", {}).get("items", ())
    return items


def _sentence(prices: Sequence[TakenBack]) -> str:
    number = len(prices)
    subject = "A list price" if number == 1 else f"{number} list prices"
    return (
        f"{subject} behind these prices {word('was', number, 'were')} taken back as wrong after this was published "
        f"({_days(prices)}). The numbers are as they were published; a mark stands at each that rests on "
        f"{word('it', number, 'one of them')}."
    )


def _days(prices: Iterable[TakenBack]) -> str:
    return listing(sorted({price.on.isoformat() for price in prices}))


def _cited(texts: Iterable[str], prices: Iterable[TakenBack]) -> list[TakenBack]:
    cited = numbers(" ".join(texts))
    return [price for price in prices if price.number in cited]


def _section(section: Node, prices: Sequence[TakenBack]) -> Node:
    return {**section, "blocks": [_block(block, prices) for block in section["blocks"]]}


def _block(block: Node, prices: Sequence[TakenBack]) -> Node:
    if block["kind"] != "table":
        return block
    rows = [{**row, "cells": [_cell(cell, prices) for cell in row["cells"]]} for row in block["rows"]]
    return {**block, "rows": rows}


def _cell(cell: Node, prices: Sequence[TakenBack]) -> Node:
    cited = _cited(_items(cell), prices)
    if not cited:
        return cell
    text = f"rests on {word('a list price that was', len(cited), 'list prices that were')} taken back {_days(cited)}"
    return {**cell, "notes": [*cell.get("notes", ()), nodes.note(text, role="flag")]}


def _data(table: Node, prices: Sequence[TakenBack]) -> Node:
    """Add a column with the days, where the derivation of a row cites one of the list prices."""
    places = [place for place, column in enumerate(table["columns"]) if column["name"] == "derivation"]
    days = [_days(_cited((row[place] for place in places), prices)) for row in table["rows"]]
    if not any(days):
        return table
    rows = [[*row, day] for row, day in zip(table["rows"], days, strict=True)]
    return {**table, "columns": [*table["columns"], nodes.data_column(COLUMN)], "rows": rows}
