"""Prices against clients, and what each price is made of."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from django.http import QueryDict

from benchhub.analysis.pricing.certainty import interval
from benchhub.analysis.pricing.money import rounded
from benchhub.analysis.pricing.quote import Cost, Quote, quote_of
from benchhub.analysis.pricing.sheets.sheet import KINDS, Kind
from benchhub.analysis.statistics.spread import INTERVAL
from benchhub.catalog.models import LicenceModel
from benchhub.reports.curves.bars import Reach
from benchhub.reports.curves.figures import first_axis
from benchhub.reports.curves.panel import Panel, PanelRow, refused, unlike

from . import figures
from .cells import Cell, Row, places_of
from .figures import Bar, Line
from .loads import throughput
from .orders import Priced
from .table import Table

BARS, CLIENTS, SPLIT = "bars", "clients", "split"


def drawn(query: QueryDict, table: Table) -> LicenceModel | None:
    """Return the licence model that `drawn` names, otherwise the last with a price, which is rarely the free one."""
    models = [model for model in table.licence_models if str(model.pk) == query.get("drawn")]
    priced = [cell.model for _, cell in table.quoted]
    return next(iter(models), priced[-1] if priced else None)


def bars(table: Table) -> Panel:
    """Draw every price of the table as a bar, the lowest on top, with what is known of its range."""
    title = "Prices side by side"
    quoted = sorted(
        ((row, cell, cell.quote) for row, cell in table.quoted if cell.quote),
        key=lambda quoted_cell: quoted_cell[2].quotient,
    )
    if not quoted:
        return refused(BARS, title, "There is no price to draw.")
    if sentence := unlike([quote.currency for *_, quote in quoted]):
        return refused(BARS, title, sentence)
    unit = f"{quoted[0][2].currency} per {table.unit}"
    licences = list(dict.fromkeys(cell.licence for _, cell in table.quoted))
    drawn_bars = [_bar(row, cell, licences) for row, cell, _ in quoted]
    figure = figures.price_bars(drawn_bars, unit)
    columns = ("System", "Licence", f"Price, {unit}", "From", "To", "which is", "Runs")
    lead = f"Each system under each licence, {table.load_words}: shorter is cheaper. Hatching tells the licences apart."
    return Panel(BARS, title, (lead,), columns, tuple(_side(row, cell) for row, cell, _ in quoted), figure)


def _bar(row: Row, cell: Cell, licences: Sequence[str]) -> Bar:
    label = figures.label(row.system_curve.system.label, cell.licence, f"{cell.price:,}")
    return Bar(label, float(cell.price or 0), _reach(cell), row.system_curve.series, licences.index(cell.licence))


def _side(row: Row, cell: Cell) -> PanelRow:
    assert cell.spread is not None
    has_spread = cell.spread.n > 1
    ends = (cell.lowest, cell.highest) if has_spread else (None, None)
    kind = cell.spread.kind if has_spread else "one run"
    values = (row.system_curve.system.label, cell.licence, cell.price, *ends, kind, cell.spread.n)
    return PanelRow(values, why=why(row, cell.model))


def _reach(cell: Cell) -> Reach:
    """Return the reach of a price as it is rounded; one without an end reaches no further than the price."""
    price = cell.price or Decimal(0)
    low, high = (float(price if end is None else end) for end in (cell.lowest, cell.highest))
    return Reach(low, high, cell.spread.n, cell.spread.kind == INTERVAL) if cell.spread else Reach(low, high, 1)


def against_clients(table: Table, model: LicenceModel) -> Panel:
    """Draw the price at every level of every curve under one licence model."""
    title = "Price against clients"
    priced_rows = [
        (row, priced)
        for row in table.rows
        if isinstance(priced := table.costs.price(row.system_curve.system, model), Priced)
    ]
    if not priced_rows:
        return refused(CLIENTS, title, f"There is no price under {model} to draw.")
    if sentence := unlike([priced.cost.currency for _, priced in priced_rows]):
        return refused(CLIENTS, title, sentence)
    unit = f"{priced_rows[0][1].cost.currency} per {table.unit}"
    lines, rows = [], []
    for row, priced in priced_rows:
        quotes = [
            quote_of(priced.cost, throughput(row.system_curve.curve, level)) for level in row.system_curve.curve.levels
        ]
        lines.append(_line(row, quotes))
        rows += [_level(table, row, quote, len(priced.cost.steps)) for quote in quotes]
    columns = ("System", "Clients", f"Price, {unit}", "From", "To", "which is", "Runs")
    lead = f"The price of one {table.unit} under {model} at each number of clients: lowest where throughput is highest."
    first = first_axis(row.system_curve for row, _ in priced_rows)
    return Panel(CLIENTS, title, (lead,), columns, tuple(rows), figures.against_clients(lines, unit, first))


def _line(row: Row, quotes: list[Quote]) -> Line:
    clients = [quote.throughput.clients or 0 for quote in quotes]
    return Line(
        row.system_curve.system.label,
        row.system_curve.series,
        clients,
        [float(quote.quotient) for quote in quotes],
        [_level_reach(quote) for quote in quotes],
    )


def _level_reach(quote: Quote) -> Reach:
    spread = interval(quote)
    high = quote.quotient if spread.high is None else spread.high
    return Reach(float(spread.low), float(high), spread.n, spread.kind == INTERVAL)


def _level(table: Table, row: Row, quote: Quote, steps_of_cost: int) -> PanelRow:
    """Return the row of a level without the first `steps_of_cost` steps, which the table derives."""
    spread, rounding = interval(quote), table.terms.rounding
    level = next(level for level in row.system_curve.curve.levels if level.clients == quote.throughput.clients)
    places = places_of(quote.quotient, level.throughput.digits)
    ends: tuple[Decimal | None, Decimal | None] = (None, None)
    if spread.n > 1:
        high = None if spread.high is None else rounded(spread.high, places, rounding)
        ends = (rounded(spread.low, places, rounding), high)
    kind = spread.kind if spread.n > 1 else "one run"
    values = (row.system_curve.system.label, level.clients, quote.price(places, rounding), *ends, kind, spread.n)
    return PanelRow(values, quote.steps[steps_of_cost:])


def split(table: Table) -> Panel:
    """Draw the parts of each total: hardware, licence, support and other."""
    title = "What the total is made of"
    quoted = table.quoted
    if not quoted:
        return refused(SPLIT, title, "There is no price to split.")
    if sentence := unlike([cell.quote.currency for _, cell in quoted if cell.quote]):
        return refused(SPLIT, title, sentence)
    costs = [cell.quote.cost for _, cell in quoted if cell.quote]
    kinds = kinds_of(costs)
    currency = costs[0].currency
    rows = [_parts(row, cell, kinds) for row, cell in quoted]
    labels = [figures.label(row.system_curve.system.label, cell.licence) for row, cell in quoted]
    parts = [(kind, [float(cost.subtotal(kind)) for cost in costs]) for kind in kinds]
    columns = ("System", "Licence", *(f"{kind.capitalize()}, {currency}" for kind in kinds), f"Total, {currency}")
    lead = f"What is paid for each system under each licence, over {table.terms.words}."
    return Panel(SPLIT, title, (lead,), columns, tuple(rows), figures.stacked(labels, parts, currency))


def kinds_of(costs: Sequence[Cost]) -> list[Kind]:
    """Return the kinds that totals are split into; 'other' only where there is any."""
    return [kind for kind in KINDS if kind != "other" or any(cost.subtotal(kind) for cost in costs)]


def _parts(row: Row, cell: Cell, kinds: Sequence[Kind]) -> PanelRow:
    assert cell.quote is not None
    cost = cell.quote.cost
    amounts = [_cents(cost.subtotal(kind)) for kind in kinds]
    return PanelRow(
        (row.system_curve.system.label, cell.licence, *amounts, _cents(cost.total)), why=why(row, cell.model)
    )


def _cents(amount: Decimal) -> Decimal:
    return rounded(amount)


def why(row: Row, model: LicenceModel) -> str:
    """Return the place of a price's derivation on the page."""
    return f"why-{row.system_curve.series}-{model.pk}"
