"""Check report A: eight prices, four conclusions, the plan of the runs, and its whole table of results."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from .check import Check, derived, judged, plain, quotient
from .document import Between, Document, Figure, Row
from .littles_law import Cell, cell, little
from .priced import cost_of

LETTER = "A"
PURE_944, PURE_95 = "PostgresPURE 9.4.4, S822L", "PostgresPURE 9.5 Beta 1, S822L"
PPAS_944, PPAS_95 = "PPAS 9.4.4, x86 Xeon", "PPAS 9.5 develop, x86 Xeon"
# What is concluded, the system that is praised, and the one it is compared with.
CONCLUSIONS = (
    ("faster-944", PURE_944, PPAS_944),
    ("faster-95", PURE_95, PPAS_95),
    ("cheaper-944", PURE_944, PPAS_944),
    ("cheaper-95", PURE_95, PPAS_95),
)
# Whose TPS stands in the table of results, and under which build.
OWN_BUILDS = ((PURE_944, "9.4.4"), (PURE_95, "9.5 Beta 1"))
SCALES = (100, 300, 1000, 3000)
PRICED_SCALE = "3000"


def checks(document: Document) -> tuple[Check, ...]:
    cells = [cell(row) for row in document.all("result")]
    return (
        *_prices(document),
        *_conclusions(document),
        *_plan(document),
        *_runs(document),
        *_clients_in_range(document, cells),
        *_tps_of_prices(document),
        *_machine(document),
        *_data_sets(document),
        *_examples(document),
        *(little(LETTER, own_cell, _column(own_cell)) for own_cell in cells),
        *_excluding(document, cells),
    )


def _prices(document: Document) -> Iterator[Check]:
    """Check hardware / TPS, then (hardware + term x units x licence) / TPS, for each system."""
    systems = document.all("system")
    yield from (_hardware_only(document, system) for system in systems)
    yield from (_with_subscription(document, system) for system in systems)


def _hardware_only(document: Document, system: Row) -> Check:
    hardware, tps = document.cited(system, "hardware"), document.cited(system, "tps")
    return quotient(
        document.cited(system, "hardware_only"),
        Fraction(hardware.value) / Fraction(tps.value),
        f"{hardware.value:,.0f} / {tps.value:,}",
        group="Price per TPS",
        report=LETTER,
        steps=(_price_step(hardware), _tps_step(tps)),
    )


def _with_subscription(document: Document, system: Row) -> Check:
    hardware, licence = document.cited(system, "hardware"), document.cited(system, "licence")
    units, tps, term = document.cited(system, "units"), document.cited(system, "tps"), document.figure("term")
    subscription = f"{term.value} x {units.value} x {licence.value:,}"
    licences = cost_of(document, system).subtotal("licence")
    return quotient(
        document.cited(system, "with_subscription"),
        Fraction(_total(document, system)) / Fraction(tps.value),
        f"({hardware.value:,.0f} + {subscription}) / {tps.value:,}",
        group="Price per TPS",
        report=LETTER,
        steps=(
            _price_step(hardware),
            _price_step(licence),
            f"Subscription: {term.value} years x {units.value} {units.unit} x {licence.value:,} = {licences:,} EUR.",
            f"Total: {hardware.value:,.0f} + {licences:,} = {_total(document, system):,.0f} EUR.",
            _tps_step(tps),
        ),
    )


def _total(document: Document, system: Row) -> Decimal:
    """Return hardware and subscription over the term, in EUR."""
    return cost_of(document, system).total


def _price_step(price: Figure) -> str:
    return f"{price.subject}: {price.value:,.0f} EUR (section {price.section})."


def _tps_step(tps: Figure) -> str:
    return f"{tps.subject}: {tps.value:,} (section {tps.section})." + (f" {tps.oddity}" if tps.oddity else "")


def _conclusions(document: Document) -> Iterator[Check]:
    for name, *systems in CONCLUSIONS:
        compare = _faster if name.startswith("faster") else _cheaper
        own, other = (document.row("system", name=system) for system in systems)
        yield compare(document, document.figure(name), own, other)


def _faster(document: Document, figure: Figure, own: Row, other: Row) -> Check:
    tps, other_tps = document.cited(own, "tps"), document.cited(other, "tps")
    return quotient(
        figure,
        Fraction(tps.value) / Fraction(other_tps.value),
        f"{tps.value:,} / {other_tps.value:,}",
        group="Conclusions",
        report=LETTER,
        steps=(_tps_step(tps), _tps_step(other_tps)),
    )


def _cheaper(document: Document, figure: Figure, own: Row, other: Row) -> Check:
    """Check a ratio of unrounded prices with subscription; a step says what the printed prices would give."""
    price, other_price = (
        Fraction(_total(document, system)) / Fraction(document.cited(system, "tps").value) for system in (own, other)
    )
    printed_prices = [document.cited(system, "with_subscription").value for system in (other, own)]
    printed_ratio = Fraction(printed_prices[0]) / Fraction(printed_prices[1])
    return quotient(
        figure,
        other_price / price,
        f"{plain(other_price, 4)} / {plain(price, 4)}",
        group="Conclusions",
        report=LETTER,
        steps=(
            f"Prices with subscription, before rounding: {plain(other_price, 4)} and {plain(price, 4)} EUR per TPS.",
            f"The printed prices give {printed_prices[0]} / {printed_prices[1]} = {plain(printed_ratio, 2)}.",
        ),
    )


def _product(document: Document, name: str, group: str, *factors: str) -> Check:
    """Check a printed product of printed factors."""
    values = [document.value(factor) for factor in factors]
    words = " x ".join(f"{value:,}" for value in values)
    return quotient(document.figure(name), math.prod(values, start=Decimal(1)), words, group=group, report=LETTER)


def _plan(document: Document) -> Iterator[Check]:
    value = document.value
    levels = (value("most-clients") - value("fewest-clients")) / value("client-step") + 1
    group = "Benchmark time"
    words = f"({value('most-clients')} - {value('fewest-clients')}) / {value('client-step')} + 1"
    yield quotient(document.figure("client-levels"), levels, words, group=group, report=LETTER)
    seconds = value("seconds-per-test")
    minutes = Fraction(seconds) / 60
    yield quotient(document.figure("minutes-per-test"), minutes, f"{seconds} s / 60", group=group, report=LETTER)
    yield _product(document, "minutes", group, "builds", "scales", "ratios", "client-levels", "minutes-per-test")
    hours = Fraction(value("minutes")) / 60
    words = f"{value('minutes'):,} / 60"
    yield quotient(document.figure("hours"), hours, words, group=group, report=LETTER)
    note = f"Section {document.figure('hours').section} has {document.figure('hours').printed} hours."
    yield quotient(document.figure("hours-concluded"), hours, words, group=group, report=LETTER, note=note)


def _runs(document: Document) -> Iterator[Check]:
    factors = [document.value(name) for name in ("builds", "scales", "ratios", "client-levels")]
    runs = Fraction(math.prod(factors, start=Decimal(1)))
    words = " x ".join(map(str, factors))
    yield from (derived(row, Between.of(runs), words, LETTER) for row in document.all("derived"))


def _clients_in_range(document: Document, cells: list[Cell]) -> Iterator[Check]:
    fewest, most = document.figure("fewest-clients"), document.figure("most-clients")
    levels_outside = sorted({cell.clients for cell in cells if not fewest.value <= cell.clients <= most.value})
    largest = max(cell.clients for cell in cells)
    levels_text = ", ".join(map(str, levels_outside))
    yield judged(
        most,
        largest,
        agrees=not levels_outside,
        subject="Most clients of any peak in the table of results",
        why=f"Peaks at {levels_text} clients lie outside the stated {fewest.value} to {most.value}."
        if levels_outside
        else f"Every peak lies within the stated {fewest.value} to {most.value} clients.",
        group="Table of results",
        report=LETTER,
        steps=(f"{len(cells)} cells; the most clients are {largest}.",),
    )
    yield _thread_ratio(document, cells)


def _thread_ratio(document: Document, cells: list[Cell]) -> Check:
    cells_as_stated = [cell for cell in cells if cell.clients == cell.threads * int(cell.ratio[0])]
    return judged(
        document.figure("ratios"),
        len({cell.ratio for cell in cells_as_stated}),
        agrees=len(cells_as_stated) == len(cells),
        subject="Ratios of clients to threads in the table of results",
        why=f"{len(cells_as_stated)} of {len(cells)} cells have as many threads as their ratio says.",
        group="Table of results",
        report=LETTER,
    )


def _cell(document: Document, **fields: str) -> Cell:
    return cell(document.row("result", **fields))


def _tps_of_prices(document: Document) -> Iterator[Check]:
    """Check the TPS that the prices divide by against the cell they are taken from."""
    for system, build in OWN_BUILDS:
        tps = document.cited(document.row("system", name=system), "tps")
        cell_of_tps = _cell(document, build=build, counted="including", ratio="1:1", scale=PRICED_SCALE)
        yield quotient(tps, cell_of_tps.tps, f"The cell of {cell_of_tps.name}", group="Table of results", report=LETTER)


def _machine(document: Document) -> Iterator[Check]:
    group = "Machine"
    yield _disks(document, group)
    yield _product(document, "s822l-cores", group, "s822l-sockets", "s822l-cores-per-socket")
    yield _product(document, "x86-cores", group, "x86-sockets", "x86-cores-per-socket")
    yield _product(document, "vm-cpus", group, "vm-sockets", "vm-cores-per-socket", "vm-threads-per-core")
    kib = document.value("vm-memory-kib")
    gib = Fraction(kib) / 1024**2
    note = "The virtual machine has all the memory that was bought."
    yield quotient(
        document.figure("memory-gb"), gib, f"{kib:,} KiB / 1,024 / 1,024", group=group, report=LETTER, note=note
    )


def _disks(document: Document, group: str) -> Check:
    size, other = document.figure("disk-gb"), document.figure("disk-gb-priced")
    why = f"Section {size.section} has 4 disks of {size.value} GB, section {other.section} 4 of {other.value} GB."
    return judged(size, other.value, agrees=size.value == other.value, why=why, group=group, report=LETTER)


def _data_sets(document: Document) -> Iterator[Check]:
    group, first = "Data sets", document.figure(f"size-{SCALES[0]}")
    for scale in SCALES:
        rows = document.value("rows-per-scale")
        words = f"{scale:,} x {rows:,}"
        yield quotient(document.figure(f"rows-{scale}"), scale * rows, words, group=group, report=LETTER)
    for scale in SCALES[1:]:
        size = Fraction(first.value) * scale / SCALES[0]
        words = f"{first.value} GB x {scale:,} / {SCALES[0]}"
        yield quotient(document.figure(f"size-{scale}"), size, words, group=group, report=LETTER)


def _examples(document: Document) -> Iterator[Check]:
    """Check the arithmetic in the text that explains the settings."""
    group, value = "Examples in the text", document.value
    gb = Fraction(value("example-users") * value("example-work-mem")) / 1000
    words = f"{value('example-users')} x {value('example-work-mem')} MB / 1,000"
    yield quotient(document.figure("example-memory"), gb, words, group=group, report=LETTER)
    yield _product(document, "checkpoint-mb", group, "wal-segments", "wal-segment-mb")
    limit = Fraction(value("wal-buffers-shared")) / Fraction(value("wal-buffers-divisor"))
    words = f"{value('wal-buffers-shared')} MB / {value('wal-buffers-divisor')}"
    yield quotient(document.figure("wal-buffers-limit"), limit, words, group=group, report=LETTER)


def _column(cell: Cell) -> str:
    return f"Client counts of PostgreSQL {cell.build}, {cell.ratio}, {cell.counted} connecting"


def _excluding(document: Document, cells: list[Cell]) -> Iterator[Check]:
    """Check that TPS without the time of connecting is not lower, whichever runs the maxima are of."""
    for excluding_cell in cells:
        if excluding_cell.counted == "excluding":
            fields = {"build": excluding_cell.build, "ratio": excluding_cell.ratio, "scale": str(excluding_cell.scale)}
            yield _not_below(excluding_cell, _cell(document, counted="including", **fields))


def _not_below(excluding: Cell, including: Cell) -> Check:
    agrees = excluding.tps >= including.tps
    numbers = f"{excluding.tps:,} TPS excluding connecting against {including.tps:,} including it"
    implied = f"its printed latency and clients give {plain(excluding.implied_tps, 0)}"
    conclusion = "not less, as it must be." if agrees else f"less, which cannot be; {implied}."
    return judged(
        excluding.figure("tps"),
        including.tps,
        agrees=agrees,
        subject=f"{excluding.place}: 'excluding' not below 'including'",
        why=f"{numbers}: {conclusion}",
        group="Excluding against including connecting",
        report=LETTER,
    )
