"""Check clients = TPS x latency for each cell of a published table of results."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from benchhub.analysis.doubts.audit import LITTLES_LAW_TOLERANCE

from .check import Check, judged, plain
from .document import Between, Figure, Row, half_unit

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
        """Return the fewest and the most clients that the printed TPS and latency, both rounded, leave room for."""
        tps, latency_ms = Fraction(self.tps), Fraction(self.latency_ms)
        half_tps, half_ms = half_unit(self.tps), half_unit(self.latency_ms)
        return (tps - half_tps) * (latency_ms - half_ms) / 1000, (tps + half_tps) * (latency_ms + half_ms) / 1000

    @property
    def agrees(self) -> bool:
        fewest, most = self.clients_range
        return fewest <= self.clients * (1 + TOLERANCE) and most >= self.clients * (1 - TOLERANCE)

    def figure(self, name: str) -> Figure:
        """Return one of the cell's numbers as a figure of its own."""
        value: Decimal = Decimal(self.clients) if name == "clients" else self.tps
        unit = "clients" if name == "clients" else "TPS"
        return Figure(self.name, self.name, f"{value:,}", value, unit, self.section, self.oddity)


def cell(row: Row) -> Cell:
    """Read a cell from a row of the table. Raises PublishedError."""
    return Cell(
        build=row.text("build"),
        counted=row.one_of("counted", COUNTED),
        ratio=row.one_of("ratio", RATIOS),
        scale=row.integer("scale"),
        clients=row.integer("clients"),
        threads=row.integer("threads"),
        tps=row.above_0("tps"),
        latency_ms=row.above_0("latency_ms"),
        section=row.text("section"),
        oddity=row.text("oddity"),
    )


def little(report: str, cell: Cell, column: str) -> Check:
    """Check whether the printed clients agree with TPS x latency, within rounding and 5%."""
    fewest, most = cell.clients_range
    return judged(
        cell.figure("clients"),
        cell.implied_clients,
        agrees=cell.agrees,
        subject=subject(cell),
        why=_why(cell),
        group=group(cell),
        report=report,
        column=column,
        room=Between(cell.implied_clients, fewest, most),
        steps=(
            f"Printed: {cell.clients} clients, {cell.threads} threads, {cell.tps:,} TPS, {cell.latency_ms} ms.",
            f"{_product(cell)}; the rounding of both leaves {plain(fewest, 2)} to {plain(most, 2)}.",
            f"The other way: {cell.clients} clients / {cell.latency_ms} ms = {plain(cell.implied_tps, 0)} TPS.",
        ),
    )


def group(cell: Cell) -> str:
    return f"Little's law, {cell.counted} connecting"


def subject(cell: Cell) -> str:
    return f"{cell.place}: clients"


def _product(cell: Cell) -> str:
    return f"{cell.tps:,} TPS x {cell.latency_ms} ms = {plain(cell.implied_clients, 2)} clients"


def _why(cell: Cell) -> str:
    fewest, most = cell.clients_range
    if fewest <= cell.clients <= most:
        return f"{_product(cell)}, as printed within rounding."
    times = cell.implied_clients / cell.clients
    if cell.agrees:
        percent = plain(abs(times - 1) * 100, 1)
        allowed = f"within the {float(TOLERANCE):.0%} that is allowed"
        return f"{_product(cell)}, {percent}% apart: more than rounding, {allowed}."
    tps_text = f"{cell.clients} clients at {cell.latency_ms} ms give {plain(cell.implied_tps, 0)} TPS"
    return (
        f"{_product(cell)}, {plain(times, 2)} times the {cell.clients} printed; {tps_text}, {cell.tps:,} are printed."
    )
