"""Report D: totals of its parts list, prices per transaction, and the throughput that follows from them.

Throughput is not printed. A price rounded to the cent leaves an interval of it, and ratios get one from that.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from .check import Check, Number, derived, judged, plain, quotient, rounded
from .document import Between, Document, Row
from .priced import total_of

LETTER = "D"
NOT_APPLICABLE = "N/A"
GROUP_RATIOS = "Ratios"


def checks(document: Document) -> tuple[Check, ...]:
    return (
        *_totals(document),
        *_prices(document),
        *_throughputs(document),
        *_ratios(document),
        *_machine(document),
    )


def amount(part: Row, side: str) -> Decimal | None:
    """What a part costs on one side, in USD; None where it is not bought. Raises PublishedError."""
    return None if part.text(side) == NOT_APPLICABLE else part.number(side)


def throughput(document: Document, system: Row) -> Between:
    """MQTh = total / price, in completed transactions per second."""
    total = Fraction(document.cited(system, "total").value)
    return Between(total, total, total).over(document.cited(system, "price").between)


def mqth(document: Document, system: Row) -> Row:
    """The derived figure that holds this system's MQTh. Raises PublishedError."""
    return document.row("derived", id=system.text("mqth"))


def _totals(document: Document) -> Iterator[Check]:
    for side, name in (("hybrid", "total-hybrid"), ("in_memory", "total-memory")):
        parts = [
            (part.text("name"), part_price)
            for part in document.all("part")
            if (part_price := amount(part, side)) is not None
        ]
        words = " + ".join(f"{price:,}" for _, price in parts)
        yield quotient(document.figure(name), total_of(side, parts), words, group="Totals", report=LETTER)


def _prices(document: Document) -> Iterator[Check]:
    for system in document.all("system"):
        total, price = document.cited(system, "total"), document.cited(system, "price")
        derived_throughput = throughput(document, system)
        tps = rounded(derived_throughput.middle, 0)
        yield quotient(
            price,
            Fraction(total.value) / Fraction(tps),
            f"{total.value:,} / {tps:,}",
            group="Price per transaction",
            report=LETTER,
            steps=(
                f"MQTh is not printed. Derived: "
                f"{total.value:,} / {price.value} = {plain(derived_throughput.middle, 0)}.",
                f"A price of {price.value}, rounded to the cent, leaves {_range(derived_throughput, 0)} MQTh.",
            ),
            note="MQTh is derived from this very price, so only the ratios below test it.",
        )


def _throughputs(document: Document) -> Iterator[Check]:
    for system in document.all("system"):
        words = f"{document.cited(system, 'total').value:,} / {document.cited(system, 'price').value}"
        yield derived(mqth(document, system), throughput(document, system), words, LETTER)


def _range(between: Between, to_places: int) -> str:
    return f"{plain(between.low, to_places)} to {plain(between.high, to_places)}"


def _of(document: Document, name: str, drivers: str) -> Row:
    return document.row("system", name=name, drivers=drivers)


def _faster(document: Document, drivers: str) -> Between:
    sides = [throughput(document, _of(document, name, drivers)) for name in ("in memory", "hybrid")]
    return sides[0].over(sides[1])


def _cheaper(document: Document, drivers: str) -> Between:
    memory, hybrid = (document.cited(_of(document, name, drivers), "price") for name in ("in memory", "hybrid"))
    return memory.between.over(hybrid.between)


def _ratios(document: Document) -> Iterator[Check]:
    light, heavy, price = _faster(document, "4"), _faster(document, "32"), _cheaper(document, "32")
    yield _ratio(document, "faster-4", light, _rounds(document, "faster-4", light), "The prices imply")
    yield _ratio(
        document,
        "faster-32",
        heavy,
        _rounds(document, "faster-32", heavy),
        "The prices imply",
        _ends(document, "faster-32", heavy),
    )
    at_least = heavy.low > document.value("faster-abstract")
    yield _ratio(document, "faster-abstract", heavy, at_least, "At 32 drivers the prices imply")
    at_most = heavy.low <= document.value("faster-conclusion")
    yield _ratio(document, "faster-conclusion", heavy, at_most, "At 32 drivers the prices imply")
    below = price.high < document.value("cheaper")
    yield _ratio(document, "cheaper", price, below, "The prices at 32 drivers give", times="", to_places=4)


def _rounds(document: Document, name: str, between: Between) -> bool:
    """The middle decides: an end of the interval needs every rounding to have gone one way."""
    printed = document.figure(name)
    return rounded(between.middle, printed.places) == printed.value


def _ends(document: Document, name: str, between: Between) -> str:
    """Said where the middle does not round to what is printed, but an end of the interval does."""
    printed = document.figure(name)
    if printed.value not in (rounded(end, printed.places) for end in (between.low, between.high)):
        return ""
    return f"It rounds to {rounded(between.middle, printed.places)}; only an end of the interval to {printed.value}."


def _ratio(
    document: Document,
    name: str,
    between: Between,
    agrees: bool,
    words: str,
    note: str = "",
    times: str = "x",
    to_places: int = 2,
) -> Check:
    printed = document.figure(name)
    verb = "in line with" if agrees else "not"
    ratio_text = f"{plain(between.middle, to_places)}{times} ({_range(between, 4)})"
    return judged(
        printed,
        between.middle,
        agrees=agrees,
        why=f"{words} {ratio_text}, {verb} '{printed.printed}'. {note}".strip(),
        group=GROUP_RATIOS,
        report=LETTER,
        steps=(
            f"{words} {ratio_text}; the interval is what prices rounded to the cent leave.",
            f"Printed: {printed.printed}. The middle decides, as both ends need every rounding to have gone one way.",
        ),
    )


def _machine(document: Document) -> Iterator[Check]:
    value = document.value
    dimms, size = value("dimms"), value("dimm-gb")
    yield _exactly(document, "memory-hybrid", dimms * size, f"{dimms} x {size} GB")
    yield _exactly(document, "memory-max5", 2 * dimms * size, f"2 x {dimms} x {size} GB")
    without, with_max5 = value("memory-hybrid"), value("memory-max5")
    yield _exactly(document, "memory-times", Fraction(with_max5) / Fraction(without), f"{with_max5} / {without}")
    largest = value("largest-dimm-gb")
    terabytes = Fraction(2 * dimms * largest) / 1024
    yield _exactly(document, "largest-memory-tb", terabytes, f"2 x {dimms} x {largest} GB / 1,024")
    luns, drives = value("luns"), value("drives-per-lun")
    yield _exactly(document, "drives", luns * drives, f"{luns} x {drives}")
    yield _exactly(document, "read-percent", 100 - value("write-percent"), f"100 - {value('write-percent')}")


def _exactly(document: Document, name: str, exact: Number, words: str) -> Check:
    return quotient(document.figure(name), exact, words, group="Machine and load", report=LETTER)
