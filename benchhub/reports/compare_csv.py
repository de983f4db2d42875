"""The tables of a comparison as CSV: what the page shows, with the exact values behind the rounded ones."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

from .compare_page import Cell, Chosen, Side
from .exports import harmless
from .prices import Table

LEVELS = (
    "curve", "experiment", "clients", "n", "median", "lowest", "highest", "unit", "baseline", "ratio",
    "ratio_lowest", "ratio_highest", "is_best", "runs", "doubts",
)  # fmt: skip
PRICES = (
    "curve", "hardware", "licence", "term_years", "rounding", "price", "price_lowest", "price_highest", "currency",
    "unit", "exact", "hardware_total", "licence_total", "peak_clients", "missing", "derivation",
)  # fmt: skip


def levels(table: Iterable[tuple[int, Sequence[Cell | None]]], chosen: Sequence[Chosen], baseline: Chosen) -> str:
    rows = [
        _level_row(one, cell, baseline)
        for _, cells in table
        for one, cell in zip(chosen, cells, strict=True)
        if cell is not None
    ]
    return _text(LEVELS, rows)


def _level_row(one: Chosen, cell: Cell, baseline: Chosen) -> list[Any]:
    spread, ratio = cell.level.throughput, cell.ratio
    return [
        one.label,
        str(one.experiment),
        cell.level.clients,
        spread.n,
        spread.median,
        spread.lowest,
        spread.highest,
        one.of.curve.unit,
        baseline.label,
        *((ratio.value, ratio.lowest, ratio.highest) if ratio else ("", "", "")),
        "yes" if cell.is_best else "",
        " ".join(str(run.run) for run in cell.level.runs),
        " ".join(cell.level.doubts),
    ]


def prices(table: Table) -> str:
    return _text(PRICES, [_price_row(row, cell, table) for row in table.rows for cell in row.cells])


def _price_row(row: Any, cell: Any, table: Table) -> list[Any]:
    system, curve, quote = row.of.system, row.of.curve, cell.quote
    named = [system.label, str(system.hardware), cell.licence, table.terms.years, table.terms.rounding]
    if quote is None:
        return [*named, "", "", "", "", curve.unit, "", "", "", curve.peak.level.clients, cell.error, ""]
    return [
        *named,
        cell.price,
        cell.lowest,
        cell.highest,
        quote.currency,
        curve.unit,
        quote.quotient,
        quote.hardware,
        quote.licences,
        curve.peak.level.clients,
        "",
        " ".join(map(str, quote.steps)),
    ]


def systems(sides: Iterable[Side], chosen: Sequence[Chosen]) -> str:
    return _text(("field", *(one.label for one in chosen)), [[side.name, *side.values] for side in sides])


def _text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(map(harmless, columns))
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    return text.getvalue()
