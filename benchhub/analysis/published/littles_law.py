"""Clients = TPS x latency, for each cell of a published table of results."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from benchhub.analysis.doubts.audit import LITTLES_LAW_TOLERANCE

from .check import Check, judged, plain
from .document import Figure, Row, half_unit

COUNTED = ("including", "excluding")
RATIOS = ("1:1", "2:1")
# The same as for BenchHub's own runs.
TOLERANCE = Fraction(str(LITTLES_LAW_TOLERANCE))


@dataclass(frozen=True, slots=True)
class Cell:
    """One peak as printed: TPS including or excluding the time of connecting, latency in ms."""

    build: str
    counted: str
    ratio: str
    scale: int
    clients: int
    threads: int
    tps: Decimal
    latency_ms: Decimal
    section: str
    oddity: str

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.build, self.counted, self.ratio, self.scale

    @property
    def place(self) -> str:
        return f"{self.build}, {self.ratio}, scale {self.scale:,}"

    @property
    def name(self) -> str:
        return f"{self.counted}, {self.place}"

    @property
    def implied_clients(self) -> Fraction:
        return Fraction(self.tps) * Fraction(self.latency_ms) / 1000

    @property
    def implied_tps(self) -> Fraction:
        return Fraction(self.clients) / Fraction(self.latency_ms) * 1000

    @property
    def clients_range(self) -> tuple[Fraction, Fraction]:
        """The fewest and most clients that the printed TPS and latency, both rounded, leave room for."""
        tps, latency_ms = Fraction(self.tps), Fraction(self.latency_ms)
        off_tps, off_ms = half_unit(self.tps), half_unit(self.latency_ms)
        return (tps - off_tps) * (latency_ms - off_ms) / 1000, (tps + off_tps) * (latency_ms + off_ms) / 1000

    @property
    def agrees(self) -> bool:
        fewest, most = self.clients_range
        return fewest <= self.clients * (1 + TOLERANCE) and most >= self.clients * (1 - TOLERANCE)

    def figure(self, name: str) -> Figure:
        """One of the cell's numbers as a figure of its own."""
        value: Decimal = Decimal(self.clients) if name == "clients" else self.tps
        unit = "clients" if name == "clients" else "TPS"
        return Figure(self.name, self.name, f"{value:,}", value, unit, self.section, self.oddity)


def cell(row: Row) -> Cell:
    """A row of the table. Raises PublishedError."""
    return Cell(
        build=row.text("build"),
        counted=row.one_of("counted", COUNTED),
        ratio=row.one_of("ratio", RATIOS),
        scale=row.whole("scale"),
        clients=row.whole("clients"),
        threads=row.whole("threads"),
        tps=row.above_0("tps"),
        latency_ms=row.above_0("latency_ms"),
        section=row.text("section"),
        oddity=row.text("oddity"),
    )


def little(report: str, of: Cell, column: str) -> Check:
    """Do the printed clients agree with TPS x latency, within rounding and 5%?"""
    fewest, most = of.clients_range
    return judged(
        of.figure("clients"),
        of.implied_clients,
        agrees=of.agrees,
        what=what(of),
        why=_why(of),
        group=group(of),
        report=report,
        column=column,
        steps=(
            f"Printed: {of.clients} clients, {of.threads} threads, {of.tps:,} TPS, {of.latency_ms} ms.",
            f"{_product(of)}; the rounding of both leaves {plain(fewest, 2)} to {plain(most, 2)}.",
            f"The other way: {of.clients} clients / {of.latency_ms} ms = {plain(of.implied_tps, 0)} TPS.",
        ),
    )


def group(of: Cell) -> str:
    return f"Little's law, {of.counted} connecting"


def what(of: Cell) -> str:
    return f"{of.place}: clients"


def _product(of: Cell) -> str:
    return f"{of.tps:,} TPS x {of.latency_ms} ms = {plain(of.implied_clients, 2)} clients"


def _why(of: Cell) -> str:
    fewest, most = of.clients_range
    if fewest <= of.clients <= most:
        return f"{_product(of)}, as printed within rounding."
    times = of.implied_clients / of.clients
    if of.agrees:
        off = plain(abs(times - 1) * 100, 1)
        return f"{_product(of)}, {off}% off: more than rounding, within the {float(TOLERANCE):.0%} that is allowed."
    other = f"{of.clients} clients at {of.latency_ms} ms give {plain(of.implied_tps, 0)} TPS"
    return f"{_product(of)}, {plain(times, 2)} times the {of.clients} printed; {other}, {of.tps:,} are printed."
