"""The axis of the laboratory: a range of one handle, and the values at which prices are calculated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from benchhub.analysis.words import count, plain, round_significant

DRAWN = 60
SPOKEN_DIGITS = 4
NICE = (Decimal(1), Decimal("1.2"), Decimal("1.5"), Decimal(2), Decimal("2.5"), *map(Decimal, (3, 4, 5, 6, 8, 10)))


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of the handle `name`; `step` is the least difference of two values on it.

    `unit` is that of the values, without a space before it where it is a sign: '%'. A whole axis has a `noun` instead.
    """

    name: str
    low: Decimal
    high: Decimal
    step: Decimal
    unit: str = ""
    noun: str = ""
    plural: str = ""

    @property
    def is_whole(self) -> bool:
        return bool(self.noun)

    def values(self, extra: Iterable[Decimal] = ()) -> tuple[Decimal, ...]:
        """Return every value of a whole axis, and even distances on any other; `extra` ones within it as well."""
        size = int((self.high - self.low) / self.step)
        parts = size if self.is_whole else min(DRAWN, size)
        values = {self.low + self.step * (size * part // max(parts, 1)) for part in range(parts + 1)}
        return tuple(sorted(values | {self.high} | {value for value in extra if self.low <= value <= self.high}))

    def between(self, low: Decimal, high: Decimal) -> Decimal:
        """Return a value halfway between two that lie more than a step apart."""
        return low + self.step * max(1, int((high - low) / self.step) // 2)

    def on_step(self, value: Decimal) -> Decimal:
        """Return the nearest value on a step, as counted from the start of the axis."""
        return self.low + self.step * round((value - self.low) / self.step)

    def words(self, value: Decimal) -> str:
        """Write a value as a sentence has it: 3 cores per socket, 1,050 EUR per core and year, 12.5%."""
        if self.is_whole:
            return count(int(value), self.noun, self.plural)
        return f"{self.number_words(value)}{'' if self.unit == '%' else ' '}{self.unit}"

    def number_words(self, value: Decimal) -> str:
        """Write a value without its unit, to as many digits as are spoken."""
        return plain(Decimal(str(round_significant(float(value), SPOKEN_DIGITS))))


def step_for(high: Decimal, least: Decimal = Decimal("0.01")) -> Decimal:
    """Return a step that is fine for amounts up to `high`: a cent, or less where amounts are below 100."""
    return min(least, Decimal(1).scaleb(high.adjusted() - 4)) if high else least


def nice_above(value: Decimal) -> Decimal:
    """Return the least round number that is not below a value above 0."""
    unit = Decimal(1).scaleb(value.adjusted())
    return next(factor * unit for factor in NICE if factor * unit >= value)
