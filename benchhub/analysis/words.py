"""Numbers, plurals, lists and units in words: the one place that knows how, for pages, sentences, API and documents."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal

GIB = 2**30
BYTE_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
SMALLEST_P = 0.0001
MISSING = "–"


def plain(value: int | float | Decimal) -> str:
    """Write every digit of a number, without idle zeros: 1,800 or 0.5."""
    text = f"{value:,f}" if isinstance(value, Decimal) else f"{value:,}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def count(number: int | float | Decimal, noun: str, plural: str = "") -> str:
    """Write how many there are: 1 run, 1,200 runs; the plural is the noun with an s unless it is given."""
    return f"{plain(number)} {word(noun, number, plural)}"


def word(singular: str, number: int | float | Decimal, plural: str = "") -> str:
    """Return the word for so many: run, runs; was, were. The plural is the singular with an s unless it is given."""
    return singular if number == 1 else plural or singular + "s"


def listing(items: Iterable[str], conjunction: str = "and") -> str:
    """Join items as a sentence does: a, b and c. Nothing is an empty text."""
    *first, last = list(items) or [""]
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def round_significant(value: float, digits: int) -> float:
    """Round to significant digits: 21,347.6 to three is 21,300."""
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def significant(value: float, digits: int) -> str:
    """Round to significant digits: 21,300 or 0.0123.

    Whole numbers below 10,000 stay as they are, and those that were counted have no decimals.
    """
    if float(value).is_integer() and abs(value) < 10_000:
        return f"{value:,.0f}"
    rounded = round_significant(float(value), digits)
    if isinstance(value, int):
        return f"{rounded:,.0f}"
    magnitude = f"{rounded:e}".split("e")[1]
    return f"{rounded:,.{max(0, digits - 1 - int(magnitude))}f}"


def percentage(share: float) -> str:
    """Write a share as a percentage as far as it matters: 84%, less than 0.01%; only all of it is 100%."""
    if 0 < share < 0.0001:
        return "less than 0.01%"
    if 0.99 < share < 1:
        return "more than 99%"
    return f"{significant(100 * share, 2)}%"


def p_value(p: float) -> str:
    """Write a probability as far as it matters: 0.12, 0.0042, or < 0.0001."""
    if p < SMALLEST_P:
        return "< 0.0001"
    return f"{p:.4f}" if p < 0.01 else f"{p:.2f}"


def size(count_bytes: int) -> str:
    """Write bytes as people read them, in powers of 1,024: 15.6 GiB."""
    amount, unit = float(count_bytes), 0
    while abs(amount) >= 1024 and unit < len(BYTE_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{f'{amount:.0f}' if unit == 0 else significant(amount, 3)} {BYTE_UNITS[unit]}"


def duration(seconds: float | None) -> str:
    """Write 1 h 5 min, 2 min 5 s, 5 min or 12 s; a dash for None."""
    if seconds is None:
        return MISSING
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if minutes:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{rest} s"


def short_time(seconds: float) -> str:
    """Write seconds that may be few: 0.35 s or 12 s, and from a minute on as a duration."""
    return duration(seconds) if seconds >= 60 else f"{significant(seconds, 2)} s"
