"""Prices and curves for the tests, without a database."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from benchhub.analysis.curves import curve
from benchhub.analysis.curves.curve import RunPoint
from benchhub.bench.models import System
from benchhub.catalog.models import Hardware, LicenceModel, ListPrice
from benchhub.reports.curves.curves import SystemCurve

from .queries import PriceBook

BOX = Hardware(pk=3, name="Box", sockets=2, cores_per_socket=10)


PER_SOCKET = LicenceModel(pk=7, name="Per socket", metric="socket")


PER_CORE = LicenceModel(pk=8, name="Per core", metric="core")


TODAY = date(2026, 6, 30)


def listed(amount, currency="EUR", day=date(2026, 1, 1), pk=1):
    return ListPrice(
        pk=pk, description="line", source="a quote", priced_on=day, amount=Decimal(amount), currency=currency
    )


def drawn(*tps, unit="TPS", label="PostgreSQL 18", hardware=BOX, series=0):
    points = (RunPoint(10 * series + n, 8, value, unit, "p", "s") for n, value in enumerate(tps))
    return SystemCurve(System(label=label, hardware=hardware), series, curve.build(points))


def price_book(box="5000", socket="4200", core="1800", **fields):
    models = {7: socket, 8: core}
    return PriceBook(
        (PER_SOCKET, PER_CORE),
        {3: (listed(box),)} if box else {},
        {pk: (listed(amount),) for pk, amount in models.items() if amount},
        **fields,
    )
