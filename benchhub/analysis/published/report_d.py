"""Check report D: totals of its parts list, prices per transaction, and the throughput that follows from them.

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
    """Return the price of a part on one side, in USD; None if it is not bought. Raises PublishedError."""
    return None if part.text(side) == NOT_APPLICABLE else part.number(side)


def throughput(document: Document, system: Row) -> Between:
    """Return MQTh = total / price, in completed transactions per second."""
    return Between.of(document.cited(system, "total").value).over(document.cited(system, "price").between)


def mqth(document: Document, system: Row) -> Row:
    """Return the derived figure that holds this system's MQTh. Raises PublishedError."""
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
        mqth_range = throughput(document, system)
        tps = rounded(mqth_range.middle, 0)
        yield quotient(
            price,
            Fraction(total.value) / Fraction(tps),
            f"{total.value:,} / {tps:,}",
            group="Price per transaction",
            report=LETTER,
            steps=(
                f"MQTh is not printed. Derived: {total.value:,} / {price.value} = {plain(mqth_range.middle, 0)}.",
                f"A price of {price.value}, rounded to the cent, leaves {_range(mqth_range, 0)} MQTh.",
            ),
            note="MQTh is derived from this very price, so only the ratios below test it.",
        )


def _throughputs(document: Document) -> Iterator[Check]:
    for system in document.all("system"):
        words = f"{document.cited(system, 'total').value:,} / {document.cited(system, 'price').value}"
        yield derived(mqth(document, system), throughput(document, system), words, LETTER)


def _range(between: Between, to_places: int) -> str:
    return f"{plain(between.low, to_places)} to {plain(between.high, to_places)}"


def _system(document: Document, name: str, drivers: str) -> Row:
    return document.row("system", name=name, drivers=drivers)


def _faster(document: Document, drivers: str) -> Between:
    sides = [throughput(document, _system(document, name, drivers)) for name in ("in memory", "hybrid")]
    return sides[0].over(sides[1])


def _cheaper(document: Document, drivers: str) -> Between:
    memory, hybrid = (document.cited(_system(document, name, drivers), "price") for name in ("in memory", "hybrid"))
    return memory.between.over(hybrid.between)


def _ratios(document: Document) -> Iterator[Check]:
    ratio_4, ratio_32, price_ratio = _faster(document, "4"), _faster(document, "32"), _cheaper(document, "32")
    is_rounded_4 = _rounds(document, "faster-4", ratio_4)
    yield _ratio(document, "faster-4", ratio_4, is_rounded_4, "The prices imply", is_rounded=True)
    yield _ratio(
        document,
        "faster-32",
        ratio_32,
        _rounds(document, "faster-32", ratio_32),
        "The prices imply",
        _ends(document, "faster-32", ratio_32),
        is_rounded=True,
    )
    is_above = ratio_32.low > document.value("faster-abstract")
    yield _ratio(document, "faster-abstract", ratio_32, is_above, "At 32 drivers the prices imply")
    is_at_most = ratio_32.low <= document.value("faster-conclusion")
    yield _ratio(document, "faster-conclusion", ratio_32, is_at_most, "At 32 drivers the prices imply")
    is_below = price_ratio.high < document.value("cheaper")
    yield _ratio(document, "cheaper", price_ratio, is_below, "The prices at 32 drivers give", times="", to_places=4)


def _rounds(document: Document, name: str, between: Between) -> bool:
    """Tell whether the middle rounds to what is printed: an end would need every rounding to go one way."""
    figure = document.figure(name)
    return rounded(between.middle, figure.places) == figure.value


def _ends(document: Document, name: str, between: Between) -> str:
    """Return a note if an end of the interval rounds to what is printed, though the middle does not."""
    figure = document.figure(name)
    if figure.value not in (rounded(end, figure.places) for end in (between.low, between.high)):
        return ""
    return f"It rounds to {rounded(between.middle, figure.places)}; only an end of the interval to {figure.value}."


def _ratio(
    document: Document,
    name: str,
    between: Between,
    agrees: bool,
    words: str,
    note: str = "",
    times: str = "x",
    to_places: int = 2,
    is_rounded: bool = False,
) -> Check:
    figure = document.figure(name)
    is_consistent = is_rounded and between.overlaps(figure.between)
    verb = "in line with" if agrees else "within the rounding of" if is_consistent else "not"
    ratio_text = f"{plain(between.middle, to_places)}{times} ({_range(between, 4)})"
    return judged(
        figure,
        between.middle,
        agrees=agrees,
        is_consistent=is_consistent,
        why=f"{words} {ratio_text}, {verb} '{figure.printed}'. {note}".strip(),
        printed=figure.between if is_rounded else Between.of(figure.value),
        room=between,
        group=GROUP_RATIOS,
        report=LETTER,
        steps=(
            f"{words} {ratio_text}; the interval is what prices rounded to the cent leave.",
            f"Printed: {figure.printed}. It agrees if the middle rounds to it, and is consistent if the intervals meet."
            " A bound, as 'up to', has no rounding.",
        ),
    )


def _machine(document: Document) -> Iterator[Check]:
    value = document.value
    dimms, size = value("dimms"), value("dimm-gb")
    yield _exactly(document, "memory-hybrid", dimms * size, f"{dimms} x {size} GB")
    yield _exactly(document, "memory-max5", 2 * dimms * size, f"2 x {dimms} x {size} GB")
    memory_gb, memory_max5_gb = value("memory-hybrid"), value("memory-max5")
    yield _exactly(
        document, "memory-times", Fraction(memory_max5_gb) / Fraction(memory_gb), f"{memory_max5_gb} / {memory_gb}"
    )
    largest = value("largest-dimm-gb")
    terabytes = Fraction(2 * dimms * largest) / 1024
    yield _exactly(document, "largest-memory-tb", terabytes, f"2 x {dimms} x {largest} GB / 1,024")
    luns, drives = value("luns"), value("drives-per-lun")
    yield _exactly(document, "drives", luns * drives, f"{luns} x {drives}")
    yield _exactly(document, "read-percent", 100 - value("write-percent"), f"100 - {value('write-percent')}")


def _exactly(document: Document, name: str, exact: Number, words: str) -> Check:
    return quotient(document.figure(name), exact, words, group="Machine and load", report=LETTER)
