"""How many times the throughput of a baseline something gives: ratio of medians, range by the extreme repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .curve import Curve, UnlikeUnitsError, require_comparable
from .spread import FEWEST_FOR_INTERVAL, RANGE, round_significant, summarise


@dataclass(frozen=True, slots=True)
class Ratio:
    """`value` is the ratio of medians. `lowest` sets the worst repeat against the baseline's best, `highest` the other
    way round: no pair of repeats lies outside. `n` and `baseline_n` are the numbers of repeats.
    """

    value: float
    lowest: float
    highest: float
    n: int
    baseline_n: int
    kind: str = RANGE

    @property
    def overlaps(self) -> bool:
        """Whether the repeats of the two sides overlap, so that they do not tell the two apart."""
        return self.lowest <= 1 <= self.highest

    @property
    def has_spread(self) -> bool:
        return self.n > 1 or self.baseline_n > 1


def of(values: Sequence[float], baseline: Sequence[float], unit: str, baseline_unit: str) -> Ratio:
    """The ratio of two sets of repeats. Raises UnlikeUnitsError, and ValueError where a side has no repeat."""
    if unit != baseline_unit:
        units = " and ".join(sorted((unit, baseline_unit)))
        raise UnlikeUnitsError(f"There is no ratio of throughput in {units}: the units differ.")
    above, below = summarise(values), summarise(baseline)
    return Ratio(
        value=above.median / below.median,
        lowest=above.lowest / below.highest,
        highest=above.highest / below.lowest,
        n=above.n,
        baseline_n=below.n,
    )


def by_level(curve: Curve, baseline: Curve) -> dict[int, Ratio]:
    """Clients -> ratio, at the levels that both curves have. Raises UnlikeRunsError for what must not be compared."""
    require_comparable([curve, baseline])
    known = {level.clients: level.values for level in baseline.levels}
    return {
        level.clients: of(level.values, known[level.clients], curve.unit, baseline.unit)
        for level in curve.levels
        if level.clients in known
    }


def sentence(ratio: Ratio, name: str, baseline_name: str, where: str) -> str:
    """What was found, and how sure it is; `where` says at which load, such as 'at 8 clients'."""
    found = f"{name} gives {times(ratio.value)} the throughput of {baseline_name} {where}"
    if not ratio.has_spread:
        return f"{found} (1 run each): a single run shows no spread, so nothing says how sure this is."
    bounds = f"{ratio.kind} {number(ratio.lowest)} to {number(ratio.highest)}, {_repeats(ratio)}"
    return f"{found} ({bounds}){_caution(ratio)}."


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
