"""Compare a throughput with a baseline: their ratio, and whether the repeats tell the two apart.

The ratio is that of the geometric means. From three repeats on each side it has a 95% interval and Welch's test,
corrected for the number of levels. With fewer it is not tested, and has a range by the extreme repeats. Where the order
of the runs cannot tell a drift of the host from a difference, it stands alone, without interval, range and verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from benchhub.analysis.statistics import estimate
from benchhub.analysis.statistics.drift import REMEDY
from benchhub.analysis.statistics.estimate import NOT_DISTINGUISHABLE, NOT_TESTED, WITHHELD, Estimate
from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL, RANGE, summarise
from benchhub.analysis.words import listing, round_significant

from .curve import Curve, UnlikeUnitsError, require_comparable, why_withheld

INTERVAL = "95% interval"
MORE, LESS = "more", "less"
VERDICTS = (MORE, LESS, NOT_DISTINGUISHABLE, NOT_TESTED, WITHHELD)
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of two throughputs; `n` and `baseline_n` are the numbers of repeats.

    Of an interval `lowest` and `highest` are its ends, and `p` is the chance of a ratio as far from 1 between equals;
    `adjusted_p` the same where it is one of several levels. Of a range, `lowest` sets the worst repeat against the
    baseline's best, `highest` the other way round, and there is no `p`: it is not tested. `withheld` says why there is
    none of these.
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

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Return the ends of the interval or range. None for single runs, and if they are withheld."""
        if self.lowest is None or self.highest is None or not self.has_spread:
            return None
        return self.lowest, self.highest

    @property
    def is_distinguishable(self) -> bool:
        """Tell whether the test tells the two sides apart; without a test nothing does."""
        p = self.p if self.adjusted_p is None else self.adjusted_p
        return p is not None and p < ALPHA

    @property
    def _holds_1(self) -> bool:
        return self.lowest is None or self.highest is None or self.lowest <= 1 <= self.highest

    @property
    def has_spread(self) -> bool:
        return not self.withheld and (self.n > 1 or self.baseline_n > 1)

    @property
    def verdict(self) -> str:
        """Return the word for a table, one of VERDICTS."""
        if self.withheld or not self.is_tested:
            return WITHHELD if self.withheld else NOT_TESTED
        return side(self.value) if self.is_distinguishable else NOT_DISTINGUISHABLE

    @property
    def is_tested(self) -> bool:
        return self.p is not None

    @property
    def why_not_tested(self) -> str:
        """Say why it is not tested, as a sentence."""
        return f"Not tested, as {estimate.why_not_tested(self.n, self.baseline_n)}."

    @property
    def is_lost_to_many(self) -> bool:
        """Tell whether the interval leaves out 1, but no more than some interval does by chance among several."""
        return self.is_tested and not self.is_distinguishable and not self._holds_1


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence: first what the repeats bear out, then how sure it is. Where they bear nothing out all is evidence."""

    statement: str
    evidence: str

    def __str__(self) -> str:
        return self.statement + self.evidence


def side(value: float) -> str:
    """Return 'more' or 'less' for a ratio that is told apart from 1."""
    return MORE if value > 1 else LESS


def by_interval(value: float, low: float, high: float) -> str:
    """Return the verdict of a ratio with this interval."""
    return NOT_DISTINGUISHABLE if low <= 1 <= high else side(value)


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
        value=summary.mean / baseline_summary.mean,
        lowest=summary.lowest / baseline_summary.highest,
        highest=summary.highest / baseline_summary.lowest,
        n=summary.n,
        baseline_n=baseline_summary.n,
    )


def tested(difference: Estimate, n: int, baseline_n: int) -> Ratio:
    """Turn a difference of logarithms, which must have scatter, into a ratio with interval and test."""
    lowest, highest = difference.interval()
    return Ratio(difference.ratio, lowest, highest, n, baseline_n, INTERVAL, difference.p)


def without_bounds(ratio: Ratio, withheld: str) -> Ratio:
    """Return the ratio without all that rests on independent repeats; unchanged if no reason is given."""
    if not withheld:
        return ratio
    return Ratio(ratio.value, None, None, ratio.n, ratio.baseline_n, WITHHELD, withheld=withheld)


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
    bounds = f"{ratio.kind} {between(ratio.bounds, ' to ')}, " if ratio.bounds else ""
    return Claim(
        "",
        f"{text} ({bounds}{_repeats(ratio)}): {NOT_TESTED}, as {estimate.why_not_tested(ratio.n, ratio.baseline_n)}.",
    )


def _tested_claim(ratio: Ratio, different_text: str, alike_text: str) -> Claim:
    bounds = f"{in_bounds(ratio)}, {_repeats(ratio)}"
    if ratio.is_distinguishable:
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
