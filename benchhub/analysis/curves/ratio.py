"""Compare a throughput with a baseline: their ratio, and whether the repeats tell the two apart.

From three repeats on each side: ratio of geometric means with its 95% interval and Welch's test, corrected for the
number of levels. With fewer: ratio of medians, and a range by the extreme repeats. Where the order of the runs cannot
tell a drift of the host from a difference, the ratio alone, without interval, range and verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from benchhub.analysis.statistics import estimate
from benchhub.analysis.statistics.drift import REMEDY
from benchhub.analysis.statistics.estimate import Estimate
from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL, RANGE, summarise
from benchhub.analysis.words import listing, round_significant

from .curve import Curve, UnlikeUnitsError, require_comparable, why_withheld

INTERVAL = "95% interval"
WITHHELD = "withheld"
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of two throughputs; `n` and `baseline_n` are the numbers of repeats.

    Of an interval `lowest` and `highest` are its ends, and `p` is the chance of a ratio as far from 1 between equals;
    `adjusted_p` the same where it is one of several levels. Of a range, `lowest` sets the worst repeat against the
    baseline's best, `highest` the other way round, and there is no `p`. `withheld` says why there is none of these.
    `of_means`: of geometric means, not of medians.
    """

    value: float
    lowest: float | None
    highest: float | None
    n: int
    baseline_n: int
    kind: str = RANGE
    p: float | None = None
    adjusted_p: float | None = None
    withheld: str = ""
    of_means: bool = False

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Return the ends of the interval or range. None for single runs, and if they are withheld."""
        if self.lowest is None or self.highest is None or not self.has_spread:
            return None
        return self.lowest, self.highest

    @property
    def overlaps(self) -> bool:
        """Tell whether the two sides cannot be told apart: by the test if there is one, else by their ranges."""
        p = self.p if self.adjusted_p is None else self.adjusted_p
        return self._holds_1 if p is None else p >= ALPHA

    @property
    def _holds_1(self) -> bool:
        return self.lowest is None or self.highest is None or self.lowest <= 1 <= self.highest

    @property
    def has_spread(self) -> bool:
        return not self.withheld and (self.n > 1 or self.baseline_n > 1)

    @property
    def verdict(self) -> str:
        """Return the word for a table: 'more', 'less', 'not distinguishable' or 'withheld'."""
        if self.withheld:
            return WITHHELD
        return "not distinguishable" if self.overlaps else "more" if self.value > 1 else "less"

    @property
    def is_tested(self) -> bool:
        return self.p is not None

    @property
    def is_lost_to_many(self) -> bool:
        """Tell whether the interval leaves out 1, but no more than some interval does by chance among several."""
        return self.is_tested and self.overlaps and not self._holds_1


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence: first what the repeats bear out, then how sure it is. Where they bear nothing out all is evidence."""

    statement: str
    evidence: str

    def __str__(self) -> str:
        return self.statement + self.evidence


def throughput_ratio(values: Sequence[float], baseline: Sequence[float], unit: str, baseline_unit: str) -> Ratio:
    """Return the ratio of two sets of repeats. Raises UnlikeUnitsError, and ValueError if a side has no repeat."""
    if unit != baseline_unit:
        units = listing(sorted((unit, baseline_unit)))
        raise UnlikeUnitsError(f"There is no ratio of throughput in {units}: the units differ.")
    return _ratio(tuple(values), tuple(baseline))


# A page asks for the same repeats several times, in its sentences, its table and its expert figures.
@lru_cache(maxsize=4096)
def _ratio(values: tuple[float, ...], baseline: tuple[float, ...]) -> Ratio:
    summary, baseline_summary = summarise(values), summarise(baseline)
    if min(summary.n, baseline_summary.n) >= FEWEST_FOR_INTERVAL:
        difference = estimate.of_repeats(values) - estimate.of_repeats(baseline)
        if difference.has_scatter:
            return tested(difference, summary.n, baseline_summary.n)
    return Ratio(
        value=summary.median / baseline_summary.median,
        lowest=summary.lowest / baseline_summary.highest,
        highest=summary.highest / baseline_summary.lowest,
        n=summary.n,
        baseline_n=baseline_summary.n,
    )


def tested(difference: Estimate, n: int, baseline_n: int) -> Ratio:
    """Turn a difference of logarithms, which must have scatter, into a ratio with interval and test."""
    lowest, highest = difference.interval()
    return Ratio(difference.ratio, lowest, highest, n, baseline_n, INTERVAL, difference.p, of_means=True)


def without_bounds(ratio: Ratio, withheld: str) -> Ratio:
    """Return the ratio without all that rests on independent repeats; unchanged if no reason is given."""
    if not withheld:
        return ratio
    return Ratio(
        ratio.value, None, None, ratio.n, ratio.baseline_n, WITHHELD, withheld=withheld, of_means=ratio.of_means
    )


def by_level(curve: Curve, baseline: Curve) -> dict[int, Ratio]:
    """Return clients -> ratio at the levels that both curves have, each p corrected for their number (Holm).

    Raises UnlikeRunsError for what must not be compared.
    """
    require_comparable([curve, baseline])
    baseline_values = {level.clients: level.values for level in baseline.levels}
    ratios = {
        level.clients: throughput_ratio(level.values, baseline_values[level.clients], curve.unit, baseline.unit)
        for level in curve.levels
        if level.clients in baseline_values
    }
    withheld = why_withheld(curve, baseline)
    p_values = {clients: ratio.p for clients, ratio in ratios.items() if ratio.p is not None}
    adjusted = dict(zip(p_values, estimate.holm(list(p_values.values())), strict=True))
    return {
        clients: without_bounds(replace(ratio, adjusted_p=adjusted.get(clients)), withheld)
        for clients, ratio in ratios.items()
    }


def claim(ratio: Ratio, name: str, baseline_name: str, where: str) -> Claim:
    """Word a ratio as a claim and how sure it is; `where` says at which load, such as 'at 8 clients'."""
    text = f"{name} gives {times(ratio.value)} the throughput of {baseline_name} {where}"
    if ratio.is_tested:
        return _tested_claim(ratio, text, f"{name} and {baseline_name} are not distinguishable {where}")
    if ratio.withheld:
        return Claim("", f"{text} ({_repeats(ratio)}), but nothing says how sure this is: {ratio.withheld}. {REMEDY}")
    if not ratio.bounds:
        return Claim("", f"{text} (1 run each): a single run shows no spread, so nothing says how sure this is.")
    bounds = f" ({ratio.kind} {between(ratio.bounds, ' to ')}, {_repeats(ratio)}){_caution(ratio)}."
    return Claim("", text + bounds) if ratio.overlaps else Claim(text, bounds)


def _tested_claim(ratio: Ratio, different_text: str, alike_text: str) -> Claim:
    bounds = f"{in_bounds(ratio)}, {_repeats(ratio)}"
    if not ratio.overlaps:
        return Claim(different_text, f", {bounds}.")
    by_chance = "; the interval leaves out 1, but of several levels one does so by chance"
    return Claim(alike_text, f": {times(ratio.value)}, {bounds}{by_chance if ratio.is_lost_to_many else ''}.")


def in_bounds(ratio: Ratio) -> str:
    """Word the bounds: 'between 1.08 and 1.16', or 'not known how sure' if none are to be shown."""
    return f"between {between(ratio.bounds, ' and ')}" if ratio.bounds else "not known how sure"


def between(bounds: tuple[float, float], word: str) -> str:
    return word.join(map(number, bounds))


def times(value: float) -> str:
    return f"{number(value)}x"


def number(value: float) -> str:
    """Format a number with two decimals near 1, and three significant digits elsewhere."""
    if 0.1 <= value < 10:
        return f"{value:.2f}"
    rounded = round_significant(value, 3)
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"


def _repeats(ratio: Ratio) -> str:
    if ratio.n == ratio.baseline_n:
        return f"{ratio.n} repeats each" if ratio.n > 1 else "1 run each"
    return f"{ratio.n} and {ratio.baseline_n} repeats"


def _caution(ratio: Ratio) -> str:
    cautions = []
    if ratio.overlaps:
        cautions.append("the ranges overlap, so the repeats do not tell the two apart")
    if min(ratio.n, ratio.baseline_n) < FEWEST_FOR_INTERVAL:
        cautions.append(f"no interval below {FEWEST_FOR_INTERVAL} repeats")
    return f": {'; '.join(cautions)}" if cautions else ""
