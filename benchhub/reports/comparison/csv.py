"""Write the tables of a comparison as CSV: those of the page, with the exact values behind the rounded ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.http import HttpResponse

from benchhub.analysis.words import listing
from benchhub.reports.curves.csv import provenance
from benchhub.reports.curves.panel import Panel
from benchhub.reports.prices.cells import LOWEST, Row
from benchhub.reports.prices.cells import Cell as PriceCell
from benchhub.reports.prices.table import Table
from benchhub.ui.csv_files import csv_text, download

from .answers import findings
from .answers.levels import Cell
from .answers.systems import Side
from .comparison import Comparison
from .entries import Entry

LEVELS = (
    "curve", "experiment", "clients", "n", "geometric_mean", "lowest", "highest", "unit", "baseline", "ratio",
    "ratio_lowest", "ratio_highest", "is_best", "runs", "doubts", "ratio_kind", "p", "p_of_several",
    "latency_average_ms", "latency_p95_ms", "latency_p99_ms", "latency_samples", "ratio_verdict", "ratio_withheld",
    "provenance", "leader", "left_out",
)  # fmt: skip
PRICES = (
    "curve", "hardware", "licence", "terms", "load", "clients", "n", "price", "price_low", "price_high", "interval",
    "currency", "unit", "exact", "per_million", "utilisation_percent", "total", "hardware_total", "licence_total",
    "support_total", "verdict", "flags", "missing", "derivation", "pooler_hardware",
)  # fmt: skip


def response(name: str, comparison: Comparison) -> HttpResponse:
    """Answer with one table of a comparison, or with the names of its tables where there is none of that name."""
    if name in TABLES:
        return download(f"comparison-{name}.csv", TABLES[name](comparison))
    drawn = {panel.name: panel for panel in panels(comparison)}
    if name not in drawn:
        return HttpResponse(f"There is no table of that name: ask for {listing(names(comparison), 'or')}.", status=404)
    return download(f"comparison-{name}.csv", drawn[name].csv())


def names(comparison: Comparison) -> list[str]:
    """Return the names of all tables in the order of the page."""
    prices = [panel.name for panel in (*comparison.price_panels, *comparison.what_if_panels)]
    loads = [panel.name for panel in comparison.load_panels]
    return ["levels", "prices", *prices, "law", "findings", *loads, "systems"]


def panels(comparison: Comparison) -> list[Panel]:
    return [*comparison.load_panels, *comparison.price_panels, *comparison.what_if_panels]


def levels(comparison: Comparison) -> str:
    """Return each curve at each level, with its ratio to the baseline."""
    rows = [
        _level_row(cell, comparison.baseline) for row in comparison.levels for cell in row.cells if cell is not None
    ]
    return csv_text(LEVELS, rows)


def _level_row(cell: Cell, baseline: Entry) -> list[Any]:
    entry, spread, ratio = cell.entry, cell.level.throughput, cell.ratio
    return [
        entry.label,
        str(entry.experiment),
        cell.level.clients,
        spread.n,
        spread.mean,
        spread.lowest,
        spread.highest,
        entry.curve.unit,
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
        provenance(cell.level),
        (cell.leader.words or "best") if cell.leader else "",
        cell.level.left_out,
    ]


def prices(table: Table) -> str:
    rows = [[*_price_row(row, cell, table), _pooler(row)] for row in table.rows for cell in row.cells]
    rows += [[*_refused_row(row, table), _pooler(row)] for row in table.rows if row.refusal]
    return csv_text(PRICES, rows)


def _pooler(row: Row) -> str:
    return str(row.system_curve.system.pooler_hardware or "")


def _refused_row(row: Row, table: Table) -> list[Any]:
    names = _row_names(row, "", table)
    return [*names, *[""] * (PRICES.index("missing") - len(names)), row.refusal, ""]


def _row_names(row: Row, licence: str, table: Table) -> list[Any]:
    clients, n = (row.at.level.clients, row.at.level.throughput.n) if row.at else ("", "")
    return [
        row.system_curve.system.label,
        str(row.system_curve.system.hardware),
        licence,
        table.terms.words,
        table.load_words,
        clients,
        n,
    ]


def _price_row(row: Row, cell: PriceCell, table: Table) -> list[Any]:
    names, quote = _row_names(row, cell.licence, table), cell.quote
    if quote is None or cell.spread is None:
        refusal_text = cell.refusal.sentence if cell.refusal else ""
        return [*names, *[""] * 5, table.unit, *[""] * 9, refusal_text, ""]
    return [
        *names,
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
    return (cell.verdict.leader.words or LOWEST) if cell.verdict else ""


def systems(comparison: Comparison, differences: Iterable[Side] | None = None) -> str:
    """Return the hardware, and the differences between the systems: all of them, or those that are passed."""
    sides = [*comparison.hardware, *(comparison.differences if differences is None else differences)]
    labels = (entry.label for entry in comparison.entries)
    return csv_text(("field", *labels), [[side.name, *side.values] for side in sides])


# By their names in addresses; each panel is a table too, by its own.
TABLES: Mapping[str, Callable[[Comparison], str]] = {
    "levels": levels,
    "prices": lambda comparison: prices(comparison.prices),
    "law": lambda comparison: comparison.scalability.csv(),
    "findings": lambda comparison: findings.table(comparison.findings, comparison.baseline),
    "systems": systems,
}
