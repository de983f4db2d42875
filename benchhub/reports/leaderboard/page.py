"""The page of the leaderboard: its choices, from the address, and its standings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from benchhub.analysis.protocol.digest import labels
from benchhub.analysis.words import count
from benchhub.catalog.models import Workload
from benchhub.reports.comparison import declared, entries
from benchhub.reports.comparison import queries as comparison_queries
from benchhub.reports.comparison.answers.fastest import fastest
from benchhub.reports.comparison.answers.systems import protocol_text
from benchhub.reports.comparison.entries import Entry
from benchhub.reports.comparison.queries import Key
from benchhub.reports.comparison.state import MOST
from benchhub.reports.curves import curves
from benchhub.reports.prices.queries import price_book
from benchhub.reports.prices.table import Table, table
from benchhub.reports.prices.terms import rest, terms
from benchhub.ui.csv_files import csv_text

from . import queries
from .standings import Standing, by_price, by_throughput

MOST_SYSTEMS = 25
THROUGHPUT, PRICE = "throughput", "price"
ORDERS = ((THROUGHPUT, "Throughput"), (PRICE, "Price per unit of throughput"))
NAMES = ("workload", "protocol", "by")
HEAD = (
    "place", "system", "hardware", "experiment", "peak", "low", "high", "unit", "clients", "repeats", "licence",
    "price", "price_low", "price_high", "currency", "total", "against_first", "verdict", "doubts", "demonstration",
)  # fmt: skip


@dataclass(frozen=True)
class LeaderboardPage:
    """The leaderboard that an address asks for; what it does not understand is as usual."""

    query: QueryDict
    today: date | None = None

    orders = ORDERS

    @cached_property
    def workloads(self) -> list[Workload]:
        return list(queries.workloads())

    @cached_property
    def workload(self) -> Workload | None:
        wish = [row for row in self.workloads if str(row.pk) == self.query.get("workload")]
        return next(iter([*wish, *self.workloads]), None)

    @cached_property
    def newest(self) -> Mapping[str, Sequence[Key]]:
        return queries.newest_curves(self.workload) if self.workload else {}

    @cached_property
    def protocol(self) -> str:
        """Return the digest of the protocol, that with the most systems unless the address names another."""
        digest = self.query.get("protocol", "")
        return digest if digest in self.newest else next(iter(self.newest), "")

    @property
    def by(self) -> str:
        return PRICE if self.query.get("by") == PRICE else THROUGHPUT

    @property
    def is_by_price(self) -> bool:
        return self.by == PRICE

    @cached_property
    def protocols(self) -> list[tuple[str, str]]:
        """Return the protocols to choose from, each in the words of what sets it apart from the others."""
        forms = comparison_queries.protocol_forms(self.newest)
        fields = curves.differences(forms.values()) if len(forms) > 1 else []
        return [(digest, _words(forms[digest], fields, len(self.newest[digest]))) for digest in self.newest]

    @cached_property
    def entries(self) -> list[Entry]:
        """Return the curves of one unit that are ranked."""
        keys = list(self.newest.get(self.protocol, ()))[:MOST_SYSTEMS]
        built, _ = entries.build(comparison_queries.rows(keys), comparison_queries.runs(keys))
        return next(iter(declared.groups(built)), [])

    @property
    def more_systems(self) -> int:
        return max(0, len(self.newest.get(self.protocol, ())) - MOST_SYSTEMS)

    @property
    def unit(self) -> str:
        return self.entries[0].curve.unit if self.entries else ""

    @cached_property
    def prices(self) -> Table:
        price_terms = terms(self.query, self.today)
        machines = [machine for entry in self.entries for machine in entry.system.machines]
        return table(self.entries, price_book(machines, (price_terms.day, price_terms.today)), price_terms)

    @cached_property
    def standings(self) -> list[Standing]:
        return by_price(self.entries, self.prices) if self.is_by_price else by_throughput(self.entries)

    @property
    def lead(self) -> str:
        """Say who is first, and how sure that is; empty where nothing is ranked."""
        if not self.standings:
            return ""
        if self.is_by_price:
            return self.prices.lead
        speed = fastest(self.entries)
        return ". ".join([speed.verdict, *speed.sentences])

    @property
    def missing(self) -> list[str]:
        """Return why systems have no price, each reason once."""
        reasons = [row.refusal for row in self.prices.rows if row.refusal]
        refusals = [cell.refusal for row in self.prices.rows for cell in row.cells if cell.refusal]
        return list(dict.fromkeys([*reasons, *(refusal.sentence for refusal in refusals)]))

    @property
    def hidden_parameters(self) -> tuple[tuple[str, str], ...]:
        """Return the terms in the address, for the form that chooses workload, protocol and order."""
        return rest(self.query, NAMES)

    @property
    def csv_query(self) -> str:
        return f"?{self.query.urlencode()}"

    @cached_property
    def compared_keys(self) -> list[str]:
        """Return the curves of the first systems, as many as one comparison takes."""
        return list(dict.fromkeys(standing.entry.key for standing in self.standings))[:MOST]

    @property
    def compare_address(self) -> str:
        """Return the comparison of the first systems; empty where there are fewer than two."""
        keys = self.compared_keys
        return f"{reverse('compare')}?{urlencode({'curve': keys}, doseq=True)}" if len(keys) > 1 else ""

    def csv(self) -> str:
        return csv_text(HEAD, map(_cells, self.standings))


def _words(form: Mapping[str, Any], fields: Sequence[str], systems: int) -> str:
    parts = [
        f"{label} {protocol_text(name, form.get(name))}" for name, label in zip(fields, labels(fields), strict=True)
    ]
    return f"{', '.join(parts) or 'the one protocol'} ({count(systems, 'system')})"


def _cells(standing: Standing) -> list[Any]:
    entry, cell = standing.entry, standing.cell
    level = entry.curve.peak.level
    spread = level.throughput
    money: list[Any] = [""] * 6
    if cell and cell.quote:
        quote = cell.quote
        money = [cell.licence, quote.quotient, cell.lowest, cell.highest, quote.currency, quote.total]
    doubts = "; ".join(doubt.text for doubt in standing.trust.doubts)
    system = [standing.place, entry.label, str(entry.system.hardware), entry.experiment.pk]
    measured = [spread.mean, spread.low, spread.high, entry.curve.unit, level.clients, spread.n]
    end = [standing.against, standing.verdict, doubts, entry.experiment.is_demonstration]
    return [*system, *measured, *money, *end]
