"""Compare a snapshot's prices with today's: the same throughput, at today's prices of the same things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.http import QueryDict

from benchhub.analysis.pricing.money import rounded_quotient
from benchhub.analysis.snapshot.nodes import Node
from benchhub.bench.models import System
from benchhub.catalog.models import LicenceModel
from benchhub.reports.prices.orders import Costs, NoPrice
from benchhub.reports.prices.queries import price_book
from benchhub.reports.prices.terms import Terms, terms


@dataclass(frozen=True, slots=True)
class Difference:
    """Prices per unit of throughput; `percent` is how far the total moved. `refusal` says why there is none today."""

    label: str
    licence: str
    unit: str
    then: Decimal
    now: Decimal | None = None
    currency: str = ""
    percent: Decimal | None = None
    refusal: str = ""

    @property
    def is_moved(self) -> bool:
        return bool(self.percent)


def differences(document: Node) -> list[Difference]:
    """Return a difference for each price of the snapshot; empty where it has no prices, as published reports."""
    rows: Sequence[Mapping[str, Any]] = document.get("source", {}).get("prices", ())
    if not rows:
        return []
    terms = _today(document["source"]["query"])
    systems = System.objects.select_related("hardware", "pooler_hardware").in_bulk({_system_key(row) for row in rows})
    models = LicenceModel.objects.in_bulk({row["licence"] for row in rows})
    machines = [machine for system in systems.values() for machine in system.machines]
    costs = Costs(price_book(machines, [terms.day]), terms, terms.day)
    return [
        _difference(row, systems[_system_key(row)], models[row["licence"]], costs, document["unit"])
        for row in rows
        if _system_key(row) in systems and row["licence"] in models
    ]


def _today(query: str) -> Terms:
    """Return the terms of the snapshot, but by the prices of today."""
    state = QueryDict(query, mutable=True)
    state.pop("day", None)
    return terms(state)


def _system_key(row: Mapping[str, Any]) -> int:
    return int(row["curve"].partition("-")[2])


def _difference(row: Mapping[str, Any], system: System, model: LicenceModel, costs: Costs, unit: str) -> Difference:
    then = Decimal(row["price"])
    fields: dict[str, Any] = {"label": system.label, "licence": str(model), "unit": unit, "then": then}
    price = costs.price(system, model)
    if isinstance(price, NoPrice):
        return Difference(**fields, currency=row["currency"], refusal=price.sentence)
    total, before = price.cost.total, Decimal(row["total"])
    now = rounded_quotient(total, Decimal(row["throughput"]), row["places"], costs.terms.rounding)
    is_comparable = price.cost.currency == row["currency"] and before
    percent = (100 * (total - before) / before).quantize(Decimal("0.1")) if is_comparable else None
    return Difference(**fields, now=now, currency=price.cost.currency, percent=percent)
