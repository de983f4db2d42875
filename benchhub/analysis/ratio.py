"""How many times the throughput of a baseline something gives, and whether the repeats tell the two apart.

From three repeats on each side: ratio of geometric means with its 95% interval and Welch's test, corrected for the
number of levels. With fewer: ratio of medians, and a range by the extreme repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from . import estimate
from .curve import Curve, UnlikeUnitsError, require_comparable
from .estimate import Estimate
from .spread import FEWEST_FOR_INTERVAL, RANGE, round_significant, summarise

INTERVAL = "95% interval"
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Ratio:
    """`n` and `baseline_n` are the numbers of repeats.

    Of an interval `lowest` and `highest` are its ends, and `p` is the chance of a ratio as far from 1 between equals;
    `adjusted_p` the same where it is one of several levels. Of a range, `lowest` sets the worst repeat against the
    baseline's best, `highest` the other way round, and there is no `p`.
    """

    value: float
    lowest: float
    highest: float
    n: int
    baseline_n: int
    kind: str = RANGE
    p: float | None = None
    adjusted_p: float | None = None

    @property
    def overlaps(self) -> bool:
        """Whether the repeats do not tell the two sides apart: by the test where there is one, else by their ranges."""
        p = self.p if self.adjusted_p is None else self.adjusted_p
        return self.lowest <= 1 <= self.highest if p is None else p >= ALPHA

    @property
    def has_spread(self) -> bool:
        return self.n > 1 or self.baseline_n > 1

    @property
    def is_tested(self) -> bool:
        return self.p is not None

    @property
    def is_lost_to_many(self) -> bool:
        """Whether its interval leaves out 1, but no more than some interval does by chance where there are several."""
        return self.is_tested and self.overlaps and not self.lowest <= 1 <= self.highest


def of(values: Sequence[float], baseline: Sequence[float], unit: str, baseline_unit: str) -> Ratio:
    """The ratio of two sets of repeats. Raises UnlikeUnitsError, and ValueError where a side has no repeat."""
    if unit != baseline_unit:
        units = " and ".join(sorted((unit, baseline_unit)))
        raise UnlikeUnitsError(f"There is no ratio of throughput in {units}: the units differ.")
    return _of(tuple(values), tuple(baseline))


# A page asks for the same repeats several times, in its sentences, its table and its expert figures.
@lru_cache(maxsize=4096)
def _of(values: tuple[float, ...], baseline: tuple[float, ...]) -> Ratio:
    above, below = summarise(values), summarise(baseline)
    if min(above.n, below.n) >= FEWEST_FOR_INTERVAL:
        difference = estimate.of_repeats(values) - estimate.of_repeats(baseline)
        if difference.has_scatter:
            return tested(difference, above.n, below.n)
    return Ratio(
        value=above.median / below.median,
        lowest=above.lowest / below.highest,
        highest=above.highest / below.lowest,
        n=above.n,
        baseline_n=below.n,
    )


def tested(difference: Estimate, n: int, baseline_n: int) -> Ratio:
    """The ratio that a difference of logarithms stands for; the difference must have scatter."""
    lowest, highest = difference.interval()
    return Ratio(difference.ratio, lowest, highest, n, baseline_n, INTERVAL, difference.p)


def by_level(curve: Curve, baseline: Curve) -> dict[int, Ratio]:
    """Clients -> ratio, at the levels that both curves have, each p corrected for their number (Holm).

    Raises UnlikeRunsError for what must not be compared.
    """
    require_comparable([curve, baseline])
    known = {level.clients: level.values for level in baseline.levels}
    ratios = {
        level.clients: of(level.values, known[level.clients], curve.unit, baseline.unit)
        for level in curve.levels
        if level.clients in known
    }
    return _corrected(ratios)


def _corrected(ratios: dict[int, Ratio]) -> dict[int, Ratio]:
    p_values = {clients: ratio.p for clients, ratio in ratios.items() if ratio.p is not None}
    adjusted = dict(zip(p_values, estimate.holm(list(p_values.values())), strict=True))
    return {clients: replace(ratio, adjusted_p=adjusted.get(clients)) for clients, ratio in ratios.items()}


def sentence(ratio: Ratio, name: str, baseline_name: str, where: str) -> str:
    """What was found, and how sure it is; `where` says at which load, such as 'at 8 clients'."""
    if ratio.is_tested:
        return _tested_sentence(ratio, name, baseline_name, where)
    found = f"{name} gives {times(ratio.value)} the throughput of {baseline_name} {where}"
    if not ratio.has_spread:
        return f"{found} (1 run each): a single run shows no spread, so nothing says how sure this is."
    bounds = f"{ratio.kind} {number(ratio.lowest)} to {number(ratio.highest)}, {_repeats(ratio)}"
    return f"{found} ({bounds}){_caution(ratio)}."


def _tested_sentence(ratio: Ratio, name: str, baseline_name: str, where: str) -> str:
    bounds = f"between {number(ratio.lowest)} and {number(ratio.highest)}, {_repeats(ratio)}"
    if not ratio.overlaps:
        return f"{name} gives {times(ratio.value)} the throughput of {baseline_name} {where}, {bounds}."
    found = f"{name} and {baseline_name} are not distinguishable {where}: {times(ratio.value)}, {bounds}"
    by_chance = "; the interval leaves out 1, but of several levels one does so by chance"
    return f"{found}{by_chance if ratio.is_lost_to_many else ''}."


def times(value: float) -> str:
    return f"{number(value)}x"


def number(value: float) -> str:
    """Two decimals near 1; three significant digits elsewhere."""
    if 0.1 <= value < 10:
        return f"{value:.2f}"
    rounded = round_significant(value, 3)
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"


def _repeats(ratio: Ratio) -> str:
    if ratio.n == ratio.baseline_n:
        return f"{ratio.n} repeats each"
    return f"{ratio.n} and {ratio.baseline_n} repeats"


def _caution(ratio: Ratio) -> str:
    cautions = []
    if ratio.overlaps:
        cautions.append("the ranges overlap, so the repeats do not tell the two apart")
    if min(ratio.n, ratio.baseline_n) < FEWEST_FOR_INTERVAL:
        cautions.append(f"no interval below {FEWEST_FOR_INTERVAL} repeats")
    return f": {'; '.join(cautions)}" if cautions else ""
