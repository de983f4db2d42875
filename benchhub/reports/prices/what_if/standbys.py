"""What standbys cost beside the primary, which alone was measured."""

from __future__ import annotations

from collections.abc import Sequence

from benchhub.analysis.pricing.money import money, rounded
from benchhub.analysis.pricing.quote import quote_of
from benchhub.analysis.pricing.sheets.sheet import Kind
from benchhub.analysis.words import count
from benchhub.reports.curves.panel import Panel, PanelRow, refused
from benchhub.reports.prices import figures
from benchhub.reports.prices.cells import Cell
from benchhub.reports.prices.orders import STANDBY, NoPrice, Priced
from benchhub.reports.prices.pictures import kinds_of
from benchhub.reports.prices.table import Table

from .subjects import Subject

NAME, TITLE = "standbys", "What do standbys cost?"
STANDBYS = (0, 1, 2, 3)


def panel(table: Table, subject: Subject) -> Panel | None:
    """Price the primary with standbys of the same hardware; None where the subject has no price."""
    if (cell := subject.cell) is None:
        return None
    system, counts = subject.row.system_curve.system, sorted({*STANDBYS, table.terms.standbys})
    prices = [table.costs.with_standbys(system, subject.model, standbys) for standbys in counts]
    if reasons := [price.sentence for price in prices if isinstance(price, NoPrice)]:
        return refused(NAME, TITLE, reasons[0])
    priced = [price for price in prices if isinstance(price, Priced)]
    currency = priced[0].cost.currency
    kinds = kinds_of([price.cost for price in priced])
    rows = tuple(_standby(table, cell, kinds, standbys, price) for standbys, price in zip(counts, priced, strict=True))
    parts = [(kind, [float(price.cost.subtotal(kind)) for price in priced]) for kind in kinds]
    labels = [count(standbys, "standby") for standbys in counts]
    amounts = [f"{name}, {currency}" for name in (*map(str.capitalize, kinds), "Total")]
    columns = ("Standbys", *amounts, f"Price, {currency} per {table.unit}")
    figure = figures.stacked(labels, parts, currency)
    return Panel(NAME, TITLE, _first_standby(subject, priced), columns, rows, figure)


def _standby(table: Table, cell: Cell, kinds: Sequence[Kind], standbys: int, priced: Priced) -> PanelRow:
    assert cell.quote is not None
    assert cell.price is not None
    parts = (rounded(priced.cost.subtotal(kind)) for kind in kinds)
    places = -int(cell.price.as_tuple().exponent)
    price = quote_of(priced.cost, cell.quote.throughput).price(places, table.terms.rounding)
    is_asked = standbys == table.terms.standbys
    return PanelRow((standbys, *parts, rounded(priced.cost.total), price), priced.steps, is_marked=is_asked)


def _first_standby(subject: Subject, priced: Sequence[Priced]) -> tuple[str, str]:
    without_standby, with_standby = (price.cost for price in priced[:2])
    added = money(rounded(with_standby.total - without_standby.total), without_standby.currency)
    if not subject.model.is_licensed:
        licence = "there is no licence to pay"
    elif STANDBY in subject.model.licence_rules().exempt_roles:
        licence = f"{subject.model} exempts a standby"
    else:
        licence = f"{subject.model} is paid for it as for the primary"
    lead = f"The first standby adds {added} to {subject.name}: the hardware is bought again, and {licence}."
    return lead, "A standby adds cost and, here, no throughput: what was measured is one machine."
