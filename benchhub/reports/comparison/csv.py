"""The tables of a comparison as CSV: what the page shows, with the exact values behind the rounded ones."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

from benchhub.reports.curves.csv import harmless
from benchhub.reports.prices.table import Cell as PriceCell
from benchhub.reports.prices.table import Row, Table

from .comparison import Cell, Chosen, Side

LEVELS = (
    "curve", "experiment", "clients", "n", "median", "lowest", "highest", "unit", "baseline", "ratio",
    "ratio_lowest", "ratio_highest", "is_best", "runs", "doubts", "ratio_kind", "p", "p_of_several",
    "latency_average_ms", "latency_p95_ms", "latency_p99_ms", "latency_samples", "ratio_verdict", "ratio_withheld",
)  # fmt: skip
PRICES = (
    "curve", "hardware", "licence", "terms", "load", "clients", "n", "price", "price_low", "price_high", "interval",
    "currency", "unit", "exact", "per_million", "utilisation_percent", "total", "hardware_total", "licence_total",
    "support_total", "verdict", "flags", "missing", "derivation",
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
        *((ratio.kind, ratio.p, ratio.adjusted_p) if ratio else ("", "", "")),
        cell.level.latency_average_ms,
        cell.level.latency_p95_ms,
        cell.level.latency_p99_ms,
        cell.level.latencies.samples if cell.level.latencies else None,
        *((ratio.verdict, ratio.withheld) if ratio and not cell.is_baseline else ("", "")),
    ]


def prices(table: Table) -> str:
    rows = [_price_row(row, cell, table) for row in table.rows for cell in row.cells]
    rows += [_named(row, "", table) + [""] * 13 + [row.refusal, ""] for row in table.rows if row.refusal]
    return _text(PRICES, rows)


def _named(row: Row, licence: str, table: Table) -> list[Any]:
    clients, n = (row.at.level.clients, row.at.level.throughput.n) if row.at else ("", "")
    return [row.of.system.label, str(row.of.system.hardware), licence, table.terms.words, table.load_words, clients, n]


def _price_row(row: Row, cell: PriceCell, table: Table) -> list[Any]:
    named, quote = _named(row, cell.licence, table), cell.quote
    if quote is None or cell.spread is None:
        why = cell.refusal.sentence if cell.refusal else ""
        return [*named, *[""] * 5, table.unit, *[""] * 9, why, ""]
    return [
        *named,
        cell.price,
        *((cell.lowest, cell.highest, cell.spread.kind) if cell.spread.n > 1 else ("", "", "")),
        quote.currency,
        table.unit,
        quote.quotient,
        cell.per_million,
        table.terms.utilisation_percent,
        quote.total,
        quote.hardware,
        quote.licences,
        quote.support,
        _verdict(cell),
        " ".join(cell.flags),
        "",
        " ".join(map(str, cell.steps)),
    ]


def _verdict(cell: PriceCell) -> str:
    if cell.verdict is None:
        return ""
    if cell.verdict.is_lowest or cell.verdict.is_of_single_runs:
        return cell.verdict.unsure_words or "lowest"
    return f"not distinguishable from {', '.join(cell.verdict.unsure)}"


def systems(sides: Iterable[Side], chosen: Sequence[Chosen]) -> str:
    return _text(("field", *(one.label for one in chosen)), [[side.name, *side.values] for side in sides])


def _text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(map(harmless, columns))
    writer.writerows([harmless("" if cell is None else cell) for cell in row] for row in rows)
    return text.getvalue()
