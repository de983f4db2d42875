"""The handles as a page offers them: where each is, where it is as usual, and how far it goes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from benchhub.analysis.pricing.laboratory.axis import Axis, nice_above, step_for
from benchhub.analysis.pricing.laboratory.handles import (
    CORES,
    DISCOUNT,
    LICENCE_DISCOUNT,
    PRICE,
    TERM,
    THROUGHPUT,
    UTILISATION,
)
from benchhub.analysis.pricing.money import HUNDRED, rounded
from benchhub.analysis.pricing.quote import TERMS_YEARS
from benchhub.analysis.words import plain

from .settings import MOST_CORES, PARAMETERS

TITLES = {
    PRICE: "Licence price",
    LICENCE_DISCOUNT: "Discount on the licence",
    DISCOUNT: "Discount on everything",
    CORES: "Cores",
    TERM: "Term",
    THROUGHPUT: "Throughput",
    UTILISATION: "Utilisation",
}
# Where a handle is, as a condition: the words of the value stand in the braces, and what it is of.
CONDITIONS = {
    PRICE: "{subject} at {}",
    LICENCE_DISCOUNT: "{} off {subject}",
    DISCOUNT: "{} off everything",
    TERM: "a term of {}",
    UTILISATION: "{} utilisation",
}
SLIDER_STEPS = 200
WIDEST = Decimal(255)  # cores, each of which is priced
PLACES = 6  # as many as a number in an address may have
# How far the axis goes of what has no end: so many times where it is as usual, farther where nothing flips nearer.
REACHES = (Decimal("1.25"), Decimal(3), Decimal(10))
# Of cores: up to so many, and so many times those of the machine.
CORES_WITHIN = dict(zip(REACHES, ((Decimal(8), 2), (Decimal(32), 4), (Decimal(128), 8)), strict=True))
SMALLEST_SHARE = Decimal(5)


@dataclass(frozen=True, slots=True)
class Handle:
    """A handle: at `value`, as usual at `usual`, from `least` on. `subject` names what it is of.

    `noun` is that of a whole number, `unit` that of any other.
    """

    name: str
    value: Decimal
    usual: Decimal
    least: Decimal = Decimal(0)
    unit: str = ""
    noun: str = ""
    plural: str = ""
    subject: str = ""

    @property
    def title(self) -> str:
        return TITLES[self.name]

    @property
    def parameter(self) -> str:
        return PARAMETERS[self.name]

    @property
    def is_moved(self) -> bool:
        return self.value != self.usual

    @property
    def usual_text(self) -> str:
        """Write where it is as usual; a mean of repeats has more digits than anybody measured."""
        return plain(rounded(self.usual, 1 if self.name == THROUGHPUT else PLACES)).replace(",", "")

    @property
    def condition(self) -> str:
        """Write where it is as a condition of a sentence: 'PostgresPURE at 420 EUR per core and year'."""
        return CONDITIONS.get(self.name, "{}").format(self.words, subject=self.subject)

    @property
    def unit_words(self) -> str:
        return self.unit or self.plural or f"{self.noun}s"

    @property
    def words(self) -> str:
        return self.axis().words(self.value)

    def axis(self, reach: Decimal = REACHES[0], low: Decimal | None = None, high: Decimal | None = None) -> Axis:
        """Return the axis that this handle moves on, wide enough for where it is; by the ends if they are a range."""
        first, last = self._range(reach)
        first, last = min(first, self.value), max(last, self.value)
        if self.unit == "%" and high is not None:
            high = min(high, HUNDRED)
        if low is not None or high is not None:
            ends = (max(self.least, first if low is None else low), last if high is None else high)
            first, last = ends if ends[0] < ends[1] else (first, last)
        if self.noun:
            first = first.to_integral_value()
            last, step = max(min(last.to_integral_value(), first + WIDEST), first + 1), Decimal(1)
        else:
            step = step_for(last)
        return Axis(self.name, first, last, step, self.unit, self.noun, self.plural)

    @property
    def slider_step(self) -> Decimal:
        """Return how far a key moves the slider: a round number, about 200 of which are the whole way."""
        axis = self.axis()
        return Decimal(1) if self.noun else nice_above((axis.high - axis.low) / SLIDER_STEPS)

    def _range(self, reach: Decimal) -> tuple[Decimal, Decimal]:
        if self.name == PRICE:
            return Decimal(0), nice_above(self.usual * reach) if self.usual else Decimal(1000)
        if self.name == THROUGHPUT:
            return nice_above(self.usual / 2), nice_above(self.usual * max(reach, Decimal(2)))
        if self.name == CORES:
            fewest, times = CORES_WITHIN[reach]
            return self.least, min(max(fewest, times * self.usual), Decimal(MOST_CORES))
        ends = {TERM: (Decimal(TERMS_YEARS[0]), Decimal(TERMS_YEARS[-1])), UTILISATION: (SMALLEST_SHARE, HUNDRED)}
        return ends.get(self.name, (Decimal(0), HUNDRED))
