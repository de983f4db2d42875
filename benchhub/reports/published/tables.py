"""The tables of a published report, for its page and its CSV from the same cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from benchhub.analysis.published import Check, Document, littles_law, report_c, report_d
from benchhub.analysis.published.check import DERIVED_GROUP, plain, rounded, written
from benchhub.analysis.published.document import Figure, Row
from benchhub.ui.csv_cells import harmless
from benchhub.ui.csv_files import csv_text

Value = Decimal | int | str | None


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as it stands in the CSV; `shown` on the page has the same digits, with thousands set apart.

    `anchor` is the row of the recomputation that says how a computed one came about.
    """

    value: Value
    anchor: str = ""

    @property
    def is_missing(self) -> bool:
        return self.value is None

    @property
    def is_number(self) -> bool:
        return not isinstance(self.value, str)

    @property
    def text(self) -> str:
        if self.value is None:
            return "–"
        return self.value if isinstance(self.value, str) else f"{self.value:,}"

    @property
    def written(self) -> str:
        if self.value is None:
            return ""
        return str(harmless(self.value)) if isinstance(self.value, str) else format(Decimal(self.value), "f")


@dataclass(frozen=True, slots=True)
class Table:
    """`key` names it in the address of its CSV; `totals` are rows that close it."""

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    totals: tuple[tuple[Cell, ...], ...] = ()

    @property
    def labelled(self) -> list[list[tuple[str, Cell]]]:
        return self._labelled(self.rows)

    @property
    def labelled_totals(self) -> list[list[tuple[str, Cell]]]:
        return self._labelled(self.totals)

    def _labelled(self, rows: Iterable[Iterable[Cell]]) -> list[list[tuple[str, Cell]]]:
        """Return each cell with the title of its column: on a phone it stands beside it."""
        titles = [column.title for column in self.columns]
        return [list(zip(titles, row, strict=True)) for row in rows]

    def csv(self) -> str:
        rows = ([cell.value for cell in row] for row in (*self.rows, *self.totals))
        return csv_text((column.title for column in self.columns), rows)


CellValue = Value | Cell
Anchors = Mapping[tuple[str, str], str]


def anchors(checks: Iterable[Check]) -> Anchors:
    """Return the place on the page of each check, by its group and subject."""
    return {(check.group, check.subject): f"check-{number}" for number, check in enumerate(checks, start=1)}


def table(
    key: str, title: str, columns: str, rows: Iterable[Sequence[CellValue]], totals: Iterable[Sequence[CellValue]] = ()
) -> Table:
    """Build a table. `columns` are titles separated by |; a title that ends with # is one of numbers."""
    heads = tuple(Column(title.strip(" #"), title.rstrip().endswith("#")) for title in columns.split("|"))
    return Table(key, title, heads, _cells(rows), _cells(totals))


def _cells(rows: Iterable[Sequence[CellValue]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(tuple(value if isinstance(value, Cell) else Cell(value) for value in row) for row in rows)


def results(document: Document, anchors: Anchors) -> Table:
    """Return report A's table of results, with what the printed latency implies."""
    cells = [littles_law.cell(row) for row in document.all("result")]
    return table(
        "results",
        "Peaks as printed, and what the printed latency implies",
        "Build | Connecting | Clients : threads | Scale # | Clients # | Threads # | TPS # | Latency, ms # "
        "| TPS x latency, clients # | Clients / latency, TPS # | Remark",
        [
            (
                cell.build,
                cell.counted,
                cell.ratio,
                cell.scale,
                cell.clients,
                cell.threads,
                cell.tps,
                cell.latency_ms,
                Cell(rounded(cell.implied_clients, 1), anchor),
                Cell(rounded(cell.implied_tps, 0), anchor),
                cell.oddity,
            )
            for cell in cells
            for anchor in (anchors[littles_law.group(cell), littles_law.subject(cell)],)
        ],
    )


def prices(document: Document, checks: Sequence[Check]) -> Table:
    """Return report A's systems with what was divided, and both prices as printed and as computed, in EUR per TPS."""
    group, cell_anchors = "Price per TPS", anchors(checks)
    computed = {
        check.subject: Cell(check.computed, cell_anchors[group, check.subject])
        for check in checks
        if check.group == group
    }
    rows: list[Sequence[CellValue]] = []
    for system in document.all("system"):
        hardware, tps = document.cited(system, "hardware"), document.cited(system, "tps")
        units, licence = document.cited(system, "units"), document.cited(system, "licence")
        hardware_only, with_subscription = (
            document.cited(system, name) for name in ("hardware_only", "with_subscription")
        )
        subscription = document.value("term") * units.value * licence.value
        total = _without_cents(hardware.value + subscription)
        amounts = (_without_cents(hardware.value), subscription, total, tps.value)
        quotients = [(price.value, computed[price.subject]) for price in (hardware_only, with_subscription)]
        rows.append((system.text("name"), *amounts, *quotients[0], *quotients[1]))
    return table(
        "prices",
        "Prices in EUR per TPS, as printed and as computed",
        "System | Hardware, EUR # | Subscription, 3 years, EUR # | Total, EUR # | TPS # | Hardware only, printed # "
        "| Hardware only, computed # | With subscription, printed # | With subscription, computed #",
        rows,
    )


def _without_cents(amount: Decimal) -> Decimal:
    """Remove the cents where there are none."""
    return amount.to_integral_value() if amount == amount.to_integral_value() else amount


def peaks(document: Document, anchors: Anchors) -> Table:
    """Return report B's two peaks that its text prints, per core as derived."""
    rows: list[Sequence[CellValue]] = []
    machines = (("power8", "POWER8, S822L"), ("x86", "x86, Ivy Bridge (PGECons 2013)"))
    for machine, name in machines:
        row = document.row("derived", id=f"peak-per-core-{machine}")
        peak, cores = document.figure(f"peak-{machine}"), document.value(f"cores-{machine}")
        rows.append((name, cores, peak.printed, peak.value, *_derived(row, anchors)))
    return table(
        "peaks",
        "Peaks of the custom script",
        "Machine | Cores # | Peak as printed | Peak, TPS # | TPS per core, derived # | from # | to #",
        rows,
    )


def _derived(row: Row, anchors: Anchors) -> tuple[CellValue, ...]:
    """Return a derived figure with the interval that rounding leaves."""
    anchor = anchors[DERIVED_GROUP, row.text("what")]
    return Cell(row.number("value"), anchor), row.number("low"), row.number("high")


def shares(document: Document) -> Table:
    """Return POWER8 in per cent of x86, from report B."""
    names = (("Physical cores", "cores-percent"), ("Throughput", "throughput-percent"))
    rows = [(name, document.figure(figure).printed, document.value(figure)) for name, figure in names]
    return table("shares", "POWER8 in per cent of x86", "What | As printed | Per cent #", rows)


def gains(document: Document, anchors: Anchors) -> Table:
    """Return report C's steps with each gain as printed, compounded so far, and the printed sum of them all."""
    rows: list[Sequence[CellValue]] = []
    factor, aggregate = Fraction(1), document.figure("aggregate")
    anchor = anchors["Gains", aggregate.subject]
    for step in report_c.steps(document):
        factor *= step.factor
        so_far = Cell(rounded((factor - 1) * 100, 1), anchor)
        low, high = (written((end - 1) * 100) for end in (step.lowest_factor, step.highest_factor))
        printed = (step.words, step.gain_percent, low, high)
        rows.append((step.number, step.change, step.section, *printed, so_far, step.oddity))
    remark = f"Computed: {plain((factor - 1) * 100, 1)}%."
    total = (None, aggregate.subject, aggregate.section, aggregate.printed, *_printed(aggregate), None, remark)
    return table(
        "steps",
        "Gain of each step",
        "Step # | Change | Section | As printed | Gain, % # | from # | to # | Compounded so far, computed, % # "
        "| Remark",
        rows,
        [total],
    )


def _printed(figure: Figure) -> tuple[Decimal, Decimal, Decimal]:
    """Return a printed number with the interval that its printing leaves."""
    return figure.value, written(figure.between.low), written(figure.between.high)


def parts(document: Document, anchors: Anchors) -> Table:
    """Return report D's parts list in USD, its totals computed and printed."""
    amounts_by_part = [
        (part, (report_d.amount(part, "hybrid"), report_d.amount(part, "in_memory"))) for part in document.all("part")
    ]
    rows: list[Sequence[CellValue]] = [
        (part.text("name"), part.text("category"), *amounts, part.text("oddity")) for part, amounts in amounts_by_part
    ]
    sums = [sum((amounts[side] or Decimal(0) for _, amounts in amounts_by_part), Decimal(0)) for side in (0, 1)]
    printed = [document.figure(name) for name in ("total-hybrid", "total-memory")]
    computed = [Cell(total, anchors["Totals", figure.subject]) for total, figure in zip(sums, printed, strict=True)]
    totals: list[Sequence[CellValue]] = [
        ("Total, computed", "", *computed, ""),
        ("Total, printed", "", *(figure.value for figure in printed), ""),
    ]
    columns = "Part | Category | Hybrid, USD # | In memory with MAX5, USD # | Remark"
    return table("parts", "Parts list as priced", columns, rows, totals)


def transactions(document: Document) -> Table:
    """Return report D's price per transaction as printed, in USD for each MQTh."""
    rows: list[Sequence[CellValue]] = []
    for system in document.all("system"):
        total, price = document.cited(system, "total"), document.cited(system, "price")
        rows.append((system.text("name"), system.integer("drivers"), total.value, price.value))
    columns = "Database | Drivers # | Total, USD # | Price, USD per MQTh #"
    return table("transactions", "Price per transaction as printed", columns, rows)


def throughputs(document: Document, anchors: Anchors) -> Table:
    """Return report D's MQTh, which is not printed, with the interval that the price leaves."""
    rows: list[Sequence[CellValue]] = []
    for system in document.all("system"):
        row = report_d.mqth(document, system)
        rows.append((system.text("name"), system.integer("drivers"), *_derived(row, anchors), row.text("from")))
    columns = "Database | Drivers # | MQTh, derived # | from # | to # | Derived as"
    return table("throughput", "Throughput, derived from total and price", columns, rows)


def recomputed(checks: Iterable[Check]) -> Table:
    """Return every check: published, computed, difference, verdict, why."""
    rows = [
        (
            check.section,
            check.group,
            check.subject,
            check.published,
            check.value,
            check.unit,
            check.published_low,
            check.published_high,
            check.computed,
            check.computed_low,
            check.computed_high,
            check.difference,
            check.verdict,
            check.why,
        )
        for check in checks
    ]
    columns = (
        "Section | Group | What | Published | Published value # | Unit | Published from # | Published to # "
        "| Computed # | Computed from # | Computed to # | Difference # | Verdict | Why"
    )
    return table("recomputation", "Recomputation", columns, rows)
