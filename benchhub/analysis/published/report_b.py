"""Check report B: cores and throughput against x86, threads, the place of the peak, and what its command reads."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from benchhub.analysis.words import listing

from .check import Check, derived, judged, plain, quotient
from .document import Between, Document

LETTER = "B"
# pgbench's own :scale where -s is not given with a script.
SCALE_WITHOUT_OPTION = 1
MACHINES = ("power8", "x86")
# Student's t of a 95% interval with 4 degrees of freedom.
STUDENT_T_4 = Decimal("2.776445")


def checks(document: Document) -> tuple[Check, ...]:
    return (
        *_against_x86(document),
        *_per_core(document),
        *_machines(document),
        *_peak(document),
        *_script(document),
        *_spread(document),
    )


def _against_x86(document: Document) -> Iterator[Check]:
    group, value = "Against x86", document.value
    room = document.figure("peak-power8").between.over(document.figure("peak-x86").between)
    cores = Fraction(value("cores-power8")) / Fraction(value("cores-x86"))
    words = f"{value('cores-power8')} / {value('cores-x86')}"
    yield quotient(document.figure("cores-share"), cores, words, group=group, report=LETTER)
    yield quotient(document.figure("cores-percent"), cores * 100, f"{words} x 100", group=group, report=LETTER)
    yield quotient(
        document.figure("throughput-percent"),
        Fraction(value("peak-power8")) / Fraction(value("peak-x86")) * 100,
        f"{value('peak-power8'):,} / {value('peak-x86'):,} x 100",
        group=group,
        report=LETTER,
        note=f"Both peaks are 'about': {plain(room.low * 100, 1)}% to {plain(room.high * 100, 1)}%.",
        room=Between(room.middle * 100, room.low * 100, room.high * 100),
    )


def _per_core(document: Document) -> Iterator[Check]:
    for machine in MACHINES:
        row = document.row("derived", id=f"peak-per-core-{machine}")
        peak, cores = document.figure(f"peak-{machine}"), document.value(f"cores-{machine}")
        between = peak.between.over(Between.of(cores))
        yield derived(row, between, f"{peak.value:,} / {cores}", LETTER)


def _machines(document: Document) -> Iterator[Check]:
    yield _product(document, "cores-power8", "sockets", "cores-per-socket")
    yield _product(document, "threads-power8", "cores-power8", "threads-per-core-power8")
    yield _product(document, "threads-power7", "cores-power7", "threads-per-core-power7")


def _product(document: Document, name: str, factor: str, factor_2: str) -> Check:
    words = f"{document.value(factor)} x {document.value(factor_2)}"
    exact = document.value(factor) * document.value(factor_2)
    return quotient(document.figure(name), exact, words, group="Machines", report=LETTER)


def _peak(document: Document) -> Iterator[Check]:
    """Check 50 to 60 clients as 2 to 3 times the cores, and as levels that were tested."""
    low, high = document.figure("peak-clients-low"), document.figure("peak-clients-high")
    least, most = document.figure("peak-times-low"), document.figure("peak-times-high")
    cores = document.value("cores-power8")
    for times, figure in ((least, low), (most, high)):
        clients, room = figure.value, figure.between.over(Between.of(cores))
        exact = room.middle
        agrees = least.value <= exact <= most.value
        text = f"{clients} / {cores} = {float(exact):g}"
        why = f"{text}, {'within' if agrees else 'outside'} the printed {least.value} to {most.value} times."
        printed = Between(Fraction(times.value), Fraction(least.value), Fraction(most.value))
        yield judged(times, exact, agrees=agrees, why=why, group="Peak", report=LETTER, printed=printed, room=room)
    levels = [row.number("clients") for row in document.all("level")]
    yield from (_was_tested(document, name, levels) for name in ("peak-clients-low", "peak-clients-high"))


def _was_tested(document: Document, name: str, levels: list[Decimal]) -> Check:
    clients = document.figure(name)
    nearest = min(levels, key=lambda level: abs(level - clients.value))
    is_tested = clients.value in levels
    is_near = clients.between.low <= nearest <= clients.between.high
    room = f"{plain(clients.between.low, 0)} to {plain(clients.between.high, 0)}"
    why = f"{clients.value} clients were {'' if is_tested else 'not '}tested; the nearest level is {nearest}."
    if not is_tested:
        why = f"{why} The printed {clients.printed} leaves {room}."
    steps = (f"Levels: {', '.join(map(str, levels))}.", why)
    return judged(
        clients, nearest, agrees=is_tested, is_consistent=is_near, why=why, group="Peak", report=LETTER, steps=steps
    )


def _script(document: Document) -> Iterator[Check]:
    accounts, scale = document.figure("accounts-per-scale"), document.value("scale")
    loaded_accounts, read_accounts = accounts.value * scale, accounts.value * SCALE_WITHOUT_OPTION
    yield judged(
        document.figure("scale"),
        SCALE_WITHOUT_OPTION,
        agrees=False,
        subject="Scale that the printed command of the custom test gives the script",
        why=(
            f"The command lacks -s, so by pgbench's rule :scale is {SCALE_WITHOUT_OPTION} and the script reads the "
            f"first {read_accounts:,} of {loaded_accounts:,} accounts, unless -s was given and not printed."
        ),
        group="Custom script",
        report=LETTER,
    )
    rows = document.figure("row-count")
    why = f"BETWEEN has both ends in it: {rows.value} + 1 = {rows.value + 1:,} rows."
    yield judged(rows, rows.value + 1, agrees=False, why=why, group="Custom script", report=LETTER)


def _spread(document: Document) -> Iterator[Check]:
    """Check the two bounds of the standard deviation against each other, the levels, and what they do to a mean."""
    everywhere, from_40 = document.figure("spread-all"), document.figure("spread-from-40")
    yield judged(
        everywhere,
        from_40.value,
        agrees=from_40.value <= everywhere.value,
        subject="Standard deviation from 40 clients, within that of every level",
        why=f"At most {from_40.value}% from 40 clients on lies within at most {everywhere.value}% at every level.",
        group="Spread",
        report=LETTER,
        printed=Between(Fraction(everywhere.value), Fraction(0), Fraction(everywhere.value)),
        room=Between(Fraction(from_40.value), Fraction(0), Fraction(from_40.value)),
    )
    yield _first_level(document)
    trials = document.value("trials")
    for figure, row_id in ((everywhere, "mean-all"), (from_40, "mean-from-40")):
        row = document.row("derived", id=row_id)
        half_percent = Fraction(STUDENT_T_4 * figure.value / trials.sqrt())
        words = f"{STUDENT_T_4} x {figure.value}% / square root of {trials}"
        yield derived(row, Between(half_percent, Fraction(0), half_percent), words, LETTER)


def _first_level(document: Document) -> Check:
    """Check at which tested levels a spread 'from 40 clients' holds."""
    clients = document.figure("spread-from-clients")
    levels = [row.number("clients") for row in document.all("level")]
    levels_above = [level for level in levels if level >= clients.value]
    why = (
        f"{clients.value} clients were not tested: from {clients.value} on there are "
        f"{listing(map(str, levels_above))}, {len(levels_above)} of {len(levels)} levels."
    )
    return judged(
        clients,
        min(levels_above),
        agrees=clients.value in levels,
        is_consistent=bool(levels_above),
        why=why,
        group="Spread",
        report=LETTER,
        printed=Between(Fraction(clients.value), Fraction(clients.value), Fraction(min(levels_above))),
    )
