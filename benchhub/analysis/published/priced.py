"""What the reports' prices come to by BenchHub's own pricing: machines, licences and sheets as they were printed."""

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

from .document import Document, Figure, PublishedError, Row

EUR, USD = "EUR", "USD"
METRICS = ("socket", "core")


def cost_of(document: Document, system: Row) -> Cost:
    """Hardware and subscription of a system of report A over its term. Raises PublishedError."""
    metric = system.one_of("metric", METRICS)
    shape = (document.cited(system, name).value for name in ("sockets", "cores_per_socket"))
    prices = (document.cited(system, name) for name in ("hardware", "licence"))
    return _cost(metric, *map(int, shape), *(_price(document, price) for price in prices), int(document.value("term")))


@cache
def _cost(metric: str, sockets: int, cores_per_socket: int, bought: Price, licensed: Price, term_years: int) -> Cost:
    machine = Machine(bought.description, sockets, cores_per_socket)
    rules = LicenceRules(metric)  # type: ignore[arg-type]  # one of METRICS
    licence = Licence(licensed.description, rules, (licensed,))
    total_cost = cost(Order(Deployment((Node(machine, prices=(bought,)),)), (licence,)), Terms(term_years))
    if isinstance(total_cost, NotEligible):
        raise PublishedError(str(total_cost))
    return total_cost


def _price(document: Document, figure: Figure) -> Price:
    """A report prints no day of its prices: the first of its year stands for it, and nothing depends on it."""
    day, source = date(int(document.about["year"]), 1, 1), f"section {figure.section}"
    return Price(figure.subject, figure.value, EUR, day, source)


def total_of(name: str, parts: Iterable[tuple[str, Decimal]]) -> Decimal:
    """The total of a parts list in USD: its lines as a price sheet, each bought once, none with maintenance."""
    lines = tuple(Line(description, price) for description, price in parts)
    return total(Sheet(name, USD, lines), term_months=36).total
