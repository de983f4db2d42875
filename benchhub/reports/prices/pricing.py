"""Curves with their prices under the terms of an address: the table, and the panels that are made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

from django.http import QueryDict

from benchhub.reports.curves.curves import SystemCurve
from benchhub.reports.curves.panel import Panel

from . import pictures, what_if
from .queries import PriceBook
from .table import Table, table
from .terms import Terms, terms
from .what_if import Subject


@dataclass(frozen=True)
class Pricing:
    """Curves of one unit, named by `keys`, under the terms that `query` asks for on the day `today`.

    Whatever made the price book (the catalogue, or what a snapshot froze), the same engine prices it.
    """

    curves: Sequence[SystemCurve]
    keys: Sequence[str]
    query: QueryDict
    price_book: PriceBook = field(repr=False)
    today: date | None = None

    @cached_property
    def terms(self) -> Terms:
        return terms(self.query, self.today)

    @cached_property
    def table(self) -> Table:
        return table(self.curves, self.price_book, self.terms)

    @cached_property
    def subject(self) -> Subject | None:
        """Return the price that the questions below the prices are about; None where nothing has a price."""
        return what_if.subject(self.query, self.table, self.keys)

    @cached_property
    def panels(self) -> list[Panel]:
        if self.subject is None:
            return []
        against_clients = pictures.against_clients(self.table, self.subject.model)
        return [pictures.bars(self.table), against_clients, pictures.split(self.table)]

    @cached_property
    def what_if_panels(self) -> list[Panel]:
        return what_if.panels(self.table, self.subject) if self.subject else []
