"""Price the reports' systems by BenchHub's own pricing: machines, licences and sheets as they were printed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from functools import cache

from benchhub.analysis.pricing.licences.cost import Licence
from benchhub.analysis.pricing.licences.rules import LicenceRules
from benchhub.analysis.pricing.licences.units import NotEligible
from benchhub.analysis.pricing.listed import Price
from benchhub.analysis.pricing.quote import Cost, Order, Terms, cost
from benchhub.analysis.pricing.sheets.sheet import Line, Sheet
from benchhub.analysis.pricing.sheets.total import total
from benchhub.analysis.pricing.topology import Deployment, Machine, Node

from .document import Document, PublishedError, Row

EUR, USD = "EUR", "USD"
METRICS = ("socket", "core")


def cost_of(document: Document, system: Row) -> Cost:
    """Return the cost of hardware and subscription of a system of report A over its term. Raises PublishedError."""
    metric = system.one_of("metric", METRICS)
    shape = (document.cited(system, name).value for name in ("sockets", "cores_per_socket"))
    # A report prints no day of its prices: the first of its year stands for it, and nothing depends on it.
    day = date(int(document.about["year"]), 1, 1)
    figures = (document.cited(system, name) for name in ("hardware", "licence"))
    prices = (Price(figure.subject, figure.value, EUR, day, f"section {figure.section}") for figure in figures)
    return _cost(metric, *map(int, shape), *prices, int(document.value("term")))


@cache
def _cost(
    metric: str, sockets: int, cores_per_socket: int, hardware: Price, subscription: Price, term_years: int
) -> Cost:
    machine = Machine(hardware.description, sockets, cores_per_socket)
    rules = LicenceRules(metric)
    licence = Licence(subscription.description, rules, (subscription,))
    total_cost = cost(Order(Deployment((Node(machine, prices=(hardware,)),)), (licence,)), Terms(term_years))
    if isinstance(total_cost, NotEligible):
        raise PublishedError(str(total_cost))
    return total_cost


def total_of(name: str, parts: Iterable[tuple[str, Decimal]]) -> Decimal:
    """Return the total of a parts list in USD: a price sheet of lines bought once, without maintenance."""
    lines = tuple(Line(description, price) for description, price in parts)
    return total(Sheet(name, USD, lines), term_months=36).total
