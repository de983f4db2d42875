"""Which price of several is the lowest, and how surely it is the lower one of each pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchhub.analysis.curves.curve import why_withheld
from benchhub.analysis.pricing.certainty import PriceRatio, ratio, without_bounds
from benchhub.analysis.pricing.quote import Quote
from benchhub.catalog.models import LicenceModel
from benchhub.reports.curves.curves import SystemCurve

from .cells import Cell, Row, Verdict


def with_verdicts(rows: Sequence[Row], models: Sequence[LicenceModel]) -> list[Row]:
    """Give the lowest of each column its verdict, unless a price is missing in it or the currencies are unlike."""
    cell_rows = [list(row.cells) for row in rows]
    for column in range(len(models)):
        cells = [
            (row.system_curve, number, row_cells[column])
            for number, (row, row_cells) in enumerate(zip(rows, cell_rows, strict=True))
            if row_cells
        ]
        if lowest := lowest_of([(system_curve.system.label, system_curve, cell) for system_curve, _, cell in cells]):
            place, verdict = lowest
            row_cells = cell_rows[cells[place][1]]
            row_cells[column] = replace(row_cells[column], verdict=verdict)
    return [replace(row, cells=tuple(row_cells)) for row, row_cells in zip(rows, cell_rows, strict=True)]


def lowest_of(cells: Sequence[tuple[str, SystemCurve, Cell]]) -> tuple[int, Verdict] | None:
    """Return the place of the lowest price and its verdict; None where a price is missing or nothing compares."""
    if any(cell.refusal and not cell.refusal.is_not_eligible for *_, cell in cells):
        return None
    quoted = [
        (place, label, system_curve, cell.quote)
        for place, (label, system_curve, cell) in enumerate(cells)
        if cell.quote
    ]
    quotes = [quote for *_, quote in quoted]
    if len(quotes) < 2 or len({quote.currency for quote in quotes}) > 1 or any(not quote.total for quote in quotes):
        return None
    lowest_place, _, lowest, least = min(quoted, key=lambda candidate: candidate[3].quotient)
    curves = {id(system_curve): system_curve.curve for *_, system_curve, _ in quoted}
    withheld = {key: bool(why_withheld(lowest.curve, curve)) for key, curve in curves.items()}
    others = tuple(
        (label, _against(least, quote, withheld[id(system_curve)]))
        for place, label, system_curve, quote in quoted
        if place != lowest_place
    )
    return lowest_place, Verdict(others)


def _against(least: Quote, other: Quote, is_withheld: bool) -> PriceRatio:
    price_ratio = ratio(least, other)
    return without_bounds(price_ratio) if is_withheld else price_ratio
