"""The page of a published report: its sections with figures and tables, then the recomputation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from itertools import groupby
from typing import Any

from benchhub.analysis.published import Check, Document, Tally, littles_law
from benchhub.analysis.published.check import where
from benchhub.analysis.published.document import Figure as PrintedFigure
from benchhub.reports.curves.figures import Figure

from . import figures, tables
from .files import Report
from .tables import Table
from .text import exact, signed

# More rows than these, on a phone, are longer than the charts beside them.
MOST_ROWS = 10
# States of pills: the CSS gives each its sign, so that colour alone says nothing.
MARKS = {
    "agrees": "succeeded",
    "consistent": "succeeded",
    "rounded up": "rounded",
    "disagrees": "failed",
}


@dataclass(frozen=True, slots=True)
class Chart:
    """`label` is read out in the place of the picture."""

    name: str
    title: str
    label: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class Section:
    """Charts side by side, what to know about them, and the tables they are drawn from."""

    name: str
    title: str
    caption: str
    tables: Sequence[Table]
    charts: Sequence[Chart] = field(default=())

    @property
    def is_long(self) -> bool:
        """Tell whether the charts say at a glance what fills a screen or more as numbers."""
        return bool(self.charts) and sum(len(table.rows) for table in self.tables) > MOST_ROWS


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A check as the page shows it."""

    check: Check
    where: str
    anchor: str
    published_room: str
    computed: str
    computed_room: str
    difference: str
    exact: str
    mark: str


@dataclass(frozen=True)
class PublishedPage:
    """The page of a published report; its document is made of the same."""

    published: Report

    @property
    def report(self) -> Mapping[str, Any]:
        return self.published.about

    @property
    def findings(self) -> Sequence[str]:
        return self.published.findings

    @property
    def tally(self) -> Tally:
        return self.published.tally

    @cached_property
    def sections(self) -> Sequence[Section]:
        return sections(self.published)

    @property
    def lost(self) -> list[dict[str, Any]]:
        return _rows(self.published.document, "lost")

    @property
    def given(self) -> list[dict[str, Any]]:
        return _rows(self.published.document, "facts")

    @property
    def oddities(self) -> list[dict[str, Any]]:
        return _rows(self.published.document, "oddity")

    @cached_property
    def marked(self) -> list[tuple[PrintedFigure, str]]:
        """Return the figures that carry a remark, each with where it stands."""
        figures = self.published.document.figures.values()
        return [(figure, where(figure.section)) for figure in figures if figure.oddity]

    @cached_property
    def groups(self) -> list[tuple[str, list[Recomputed]]]:
        return _groups(self.published.checks)


def sections(report: Report) -> Sequence[Section]:
    return SECTIONS[report.document.letter](report)


def all_tables(report: Report) -> Mapping[str, Table]:
    """Return every table of the report by its key: those of the sections, and the recomputation."""
    section_tables = [table for section in sections(report) for table in section.tables]
    return {table.key: table for table in (*section_tables, tables.recomputed(report.checks))}


def _rows(document: Document, kind: str) -> list[dict[str, Any]]:
    return [{**row.values, "where": where(row.text("section"))} for row in document.all(kind)]


def _groups(checks: Sequence[Check]) -> list[tuple[str, list[Recomputed]]]:
    anchors = tables.anchors(checks)
    by_group = groupby(checks, key=lambda check: check.group)
    return [(group, [_recomputed(check, anchors) for check in group_checks]) for group, group_checks in by_group]


def _recomputed(check: Check, anchors: tables.Anchors) -> Recomputed:
    return Recomputed(
        check=check,
        where=where(check.section),
        anchor=anchors[check.group, check.subject],
        published_room=_room(check.published_low, check.published_high),
        computed=f"{check.computed:,}",
        computed_room=_room(check.computed_low, check.computed_high),
        difference=signed(check.difference),
        exact=exact(check),
        mark=MARKS[check.verdict],
    )


def _room(low: Decimal, high: Decimal) -> str:
    """Return an interval in words; empty for a number without any room."""
    return "" if low == high else f"{low:,} to {high:,}"


def _report_a(report: Report) -> Sequence[Section]:
    document, anchors = report.document, tables.anchors(report.checks)
    charts = [
        Chart(f"tps-{number}", f"{ratio} clients to threads", f"TPS by scale at {ratio}", figure)
        for number, ratio in enumerate(littles_law.RATIOS, start=1)
        for figure in (figures.tps_by_scale(document, ratio),)
    ]
    prices = Chart("price-bars", "", "Printed prices of the four systems", figures.price_bars(document))
    return (
        Section("tps", "TPS by scale", TPS_CAPTION, [tables.results(document, anchors)], charts),
        Section("prices", "Price per TPS", PRICES_CAPTION, [tables.prices(document, report.checks)], [prices]),
    )


def _report_b(report: Report) -> Sequence[Section]:
    document = report.document
    charts = [
        Chart("peak-bars", "Peaks", "Peaks of POWER8 and x86", figures.peak_bars(document)),
        Chart("share-bars", "POWER8 in per cent of x86", "Cores and throughput", figures.share_bars(document)),
    ]
    both_tables = [tables.peaks(document, tables.anchors(report.checks)), tables.shares(document)]
    return (Section("peaks", "Custom script: POWER8 against x86", PEAKS_CAPTION, both_tables, charts),)


def _report_c(report: Report) -> Sequence[Section]:
    chart = Chart("gain-bars", "", "Gain of each step and of all together", figures.gain_bars(report.document))
    return (
        Section(
            "gains",
            "Throughput gained by each step",
            GAINS_CAPTION,
            [tables.gains(report.document, tables.anchors(report.checks))],
            [chart],
        ),
    )


def _report_d(report: Report) -> Sequence[Section]:
    document, anchors = report.document, tables.anchors(report.checks)
    prices = Chart("transaction-bars", "", "Price per transaction", figures.transaction_bars(document))
    derived = Chart("throughput-bars", "", "Throughput, derived", figures.throughput_bars(document))
    return (
        Section("parts", "Parts list", PARTS_CAPTION, [tables.parts(document, anchors)]),
        Section(
            "transactions", "Price per transaction", TRANSACTIONS_CAPTION, [tables.transactions(document)], [prices]
        ),
        Section(
            "throughput", "Throughput, derived", THROUGHPUT_CAPTION, [tables.throughputs(document, anchors)], [derived]
        ),
    )


SECTIONS: Mapping[str, Callable[[Report], Sequence[Section]]] = {
    "A": _report_a,
    "B": _report_b,
    "C": _report_c,
    "D": _report_d,
}
TPS_CAPTION = (
    "The best run of each scale, as printed. Striped bars leave the time of connecting out. A question mark is over "
    "a peak whose TPS x latency is not its number of clients. Bars that stand together are of different runs."
)
PRICES_CAPTION = (
    "As printed, in EUR for each transaction per second; hardware with 3 years of maintenance, the subscription over 3 "
    "years. The throughput of Postgres Plus Advanced Server is from another report."
)
PEAKS_CAPTION = (
    "Both peaks are 'about', and POWER8 still rose at its last level. What follows per core is not printed: "
    "its interval is what 'about', to the hundred and to the thousand, leaves."
)
GAINS_CAPTION = (
    "Drawn as if each step built on those before it, which the text does not say. 'almost' and 'ca.' are the report's. "
    "The sixth step stands among the response times."
)
PARTS_CAPTION = (
    "USD, as printed. A dash is what one side does not need. Operating system, maintenance and term are not priced."
)
TRANSACTIONS_CAPTION = (
    "As printed: the total of the parts list for each completed transaction per second (MQTh), in USD. A figure of its "
    "own, because other reports price in other units and currencies."
)
THROUGHPUT_CAPTION = (
    "Not printed: derived as total / price. The bar of each is the interval that a price rounded to the cent leaves. "
    "MQTh is TATP's throughput and is never drawn together with the TPS of pgbench."
)
