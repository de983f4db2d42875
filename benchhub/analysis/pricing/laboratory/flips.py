"""Find where the cheaper of two choices changes, how sure that is, and which choice is the cheapest of all where.

Within a whole axis each value is looked at. Between two values of any other axis a cost is a straight line (in a price
or a discount), a constant over the value (throughput), or all prices fall alike (utilisation): two choices change
places there once at most, so that signs at both ends tell of it, and halving finds the step where it happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

from benchhub.analysis.pricing.certainty import CHEAPER, DEARER, SAME_RUNS
from benchhub.analysis.statistics.estimate import NOT_TESTED, WITHHELD

from .axis import Axis
from .choices import Choice
from .laboratory import Laboratory

TESTED = "tested"
ZONE_PARTS = 1000


@dataclass(frozen=True, slots=True)
class Zone:
    """Where the runs do not tell two choices apart, around a flip: None where that goes on beyond the axis.

    `kind` is 'tested', 'same runs on both sides' (then there is no doubt), 'not tested' or 'withheld'.
    """

    kind: str
    low: Decimal | None = None
    high: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Flip:
    """A value of the axis from which on another choice is the cheaper of two.

    `before` is the last value at which `first` is the cheaper, `value` the first at which it is not, `after` the first
    at which `other` is: between the two they cost the same. `is_end` where one of them is not to be had on one side.
    """

    first: Choice
    other: Choice
    before: Decimal
    value: Decimal
    after: Decimal
    price: Fraction | None
    zone: Zone
    is_end: bool = False

    @property
    def is_of_one_system(self) -> bool:
        return self.first.system == self.other.system

    @property
    def is_of_one_licence(self) -> bool:
        return self.first.licence == self.other.licence


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the axis along which the same choices are the cheapest of all; several where they cost the same."""

    low: Decimal
    high: Decimal
    choices: tuple[Choice, ...]


def flips(laboratory: Laboratory) -> list[Flip]:
    """Return each flip of two choices along the axis, by rising value."""
    rows = [flip for pair in combinations(laboratory.choices, 2) for flip in _of_pair(laboratory, *pair)]
    return sorted(rows, key=lambda flip: flip.value)


def sign(laboratory: Laboratory, first: Choice, other: Choice, value: Decimal) -> int:
    """Return -1 where the first is the cheaper or alone to be had, 1 where the other is, otherwise 0."""
    prices = laboratory.price(first, value), laboratory.price(other, value)
    if prices[0] is None or prices[1] is None:
        return (prices[0] is None) - (prices[1] is None)
    return (prices[0] > prices[1]) - (prices[0] < prices[1])


def _of_pair(laboratory: Laboratory, first: Choice, other: Choice) -> Iterator[Flip]:
    """Go along the axis; where the sign has turned since it was last not 0, look for the step."""
    last: tuple[Decimal, int] | None = None
    for value in laboratory.values:
        current = sign(laboratory, first, other, value)
        if last and current == -last[1]:
            pair = (first, other) if last[1] < 0 else (other, first)
            yield _flip(laboratory, *pair, last[0], value)
        if current:
            last = value, current


def _flip(laboratory: Laboratory, first: Choice, other: Choice, low: Decimal, high: Decimal) -> Flip:
    """Narrow a flip down to neighbouring steps: at `low` the first is the cheaper, at `high` the other."""
    axis, guess = laboratory.axis, _guess(laboratory, first, other, low, high)
    before, value = _turn(axis, lambda at: sign(laboratory, first, other, at) >= 0, low, high, guess)
    _, after = _turn(axis, lambda at: sign(laboratory, first, other, at) > 0, before, high, value)
    prices = {at: (laboratory.price(first, at), laboratory.price(other, at)) for at in (before, value, after)}
    is_end = any(price is None for pair in prices.values() for price in pair)
    price = next((price for price in reversed(prices[value]) if price is not None), None)
    zone = Zone(SAME_RUNS) if is_end else _zone(laboratory, first, other, before, value)
    return Flip(first, other, before, value, after, price, zone, is_end)


def _guess(laboratory: Laboratory, first: Choice, other: Choice, low: Decimal, high: Decimal) -> Decimal:
    """Return where two straight lines would meet; the middle where one of them has an end."""
    prices = [laboratory.price(choice, value) for value in (low, high) for choice in (first, other)]
    if None in prices:
        return laboratory.axis.between(low, high)
    at_low, at_high = (Fraction(prices[place + 1] or 0) - Fraction(prices[place] or 0) for place in (0, 2))
    share = at_low / (at_low - at_high)
    return laboratory.axis.on_step(low + (high - low) * Decimal(share.numerator) / Decimal(share.denominator))


def _turn(
    axis: Axis, has_turned: Callable[[Decimal], bool], low: Decimal, high: Decimal, guess: Decimal
) -> tuple[Decimal, Decimal]:
    """Return neighbouring steps between which it turns: not yet at `low`, already at `high`."""
    for candidate in (guess, guess - axis.step, guess + axis.step):
        if low < candidate < high:
            low, high = (low, candidate) if has_turned(candidate) else (candidate, high)
    while high - low > axis.step:
        middle = axis.between(low, high)
        low, high = (low, middle) if has_turned(middle) else (middle, high)
    return low, high


def _zone(laboratory: Laboratory, first: Choice, other: Choice, before: Decimal, value: Decimal) -> Zone:
    price_ratio = laboratory.ratio(first, other, value)
    if price_ratio is None or price_ratio.kind == SAME_RUNS:
        return Zone(SAME_RUNS)
    if price_ratio.verdict in (NOT_TESTED, WITHHELD):
        return Zone(price_ratio.verdict)
    axis = laboratory.axis
    ways = ((before, axis.low), (value, axis.high))
    return Zone(TESTED, *(_sure_from(laboratory, first, other, start, end) for start, end in ways))


def _sure_from(laboratory: Laboratory, first: Choice, other: Choice, start: Decimal, end: Decimal) -> Decimal | None:
    """Return from where on, seen from a flip towards an end of the axis, the runs tell two choices apart."""
    if _is_sure(laboratory, first, other, start):
        return start
    if not _is_sure(laboratory, first, other, end):
        return None
    axis, unsure, sure = laboratory.axis, start, end
    step = axis.step * max(1, int((axis.high - axis.low) / axis.step) // ZONE_PARTS)
    while (parts := int(abs(sure - unsure) / step)) > 1:
        middle = unsure + (parts // 2) * (step if sure > unsure else -step)
        unsure, sure = (unsure, middle) if _is_sure(laboratory, first, other, middle) else (middle, sure)
    return sure


def _is_sure(laboratory: Laboratory, first: Choice, other: Choice, value: Decimal) -> bool:
    """Tell whether one of the two is surely the cheaper; so it is where the other is not to be had."""
    price_ratio = laboratory.ratio(first, other, value)
    return price_ratio is None or price_ratio.verdict in (CHEAPER, DEARER)


def cheapest(laboratory: Laboratory, pair_flips: list[Flip]) -> list[Stretch]:
    """Return which choices are the cheapest along the axis, as measured.

    Between flips no two choices change places, so that the values that are drawn and those of flips are enough.
    """
    values = {*laboratory.values, *(value for flip in pair_flips for value in (flip.before, flip.value, flip.after))}
    first, *others = sorted(values)
    stretches = [Stretch(first, first, _cheapest_at(laboratory, first))]
    for value in others:
        last, choices = stretches[-1], _cheapest_at(laboratory, value)
        if last.choices == choices:
            stretches[-1] = Stretch(last.low, value, choices)
        else:
            end, start = _parting(laboratory, last, value)
            stretches[-1] = Stretch(last.low, end, last.choices)
            stretches.append(Stretch(start, value, choices))
    return _without_meetings(laboratory.axis, stretches)


def _parting(laboratory: Laboratory, last: Stretch, value: Decimal) -> tuple[Decimal, Decimal]:
    """Return the neighbouring steps between which other choices become the cheapest: lines may meet at a value."""

    def has_turned(at: Decimal) -> bool:
        return _cheapest_at(laboratory, at) != last.choices

    return _turn(laboratory.axis, has_turned, last.high, value, last.high + laboratory.axis.step)


def _cheapest_at(laboratory: Laboratory, value: Decimal) -> tuple[Choice, ...]:
    prices = [
        (choice, price) for choice in laboratory.choices if (price := laboratory.price(choice, value)) is not None
    ]
    least = min((price for _, price in prices), default=None)
    return tuple(choice for choice, price in prices if price == least)


def _without_meetings(axis: Axis, stretches: list[Stretch]) -> list[Stretch]:
    """Leave out points in which lines only meet; a whole axis has none."""
    if axis.is_whole:
        return stretches
    least = max(axis.step, (axis.high - axis.low) / ZONE_PARTS)
    longer: list[Stretch] = []
    for stretch in stretches:
        is_meeting = stretch.high - stretch.low <= least and len(stretch.choices) > 1
        if is_meeting and len(stretches) > 1:
            continue
        if longer and longer[-1].choices == stretch.choices:
            longer[-1] = Stretch(longer[-1].low, stretch.high, stretch.choices)
        else:
            longer.append(stretch)
    return longer
