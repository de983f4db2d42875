"""Estimate the effects of tuning steps as ratios of throughput, by contrasts of mean logarithms.

The throughput of a treatment is the geometric mean of its repeats, over several levels that of the levels. An effect is
a weighted sum of the treatments' logarithms, so that the effects of cumulative steps compound to the total exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from benchhub.analysis.curves import ratio
from benchhub.analysis.curves.ratio import Ratio
from benchhub.analysis.statistics import estimate
from benchhub.analysis.statistics.estimate import Estimate
from benchhub.analysis.statistics.spread import FEWEST_FOR_INTERVAL, log_mean

from .fractions import Alias, Fraction
from .treatments import CUMULATIVE, FACTORIAL, Kind, Treatment

Levels = Mapping[int, Sequence[float]]
# Says why two treatments (by their places) have no interval; empty if they have one.
Withheld = Callable[[int, int], str]


@dataclass(frozen=True, slots=True)
class Measured:
    """A treatment at the levels that all treatments ran: its mean logarithm, and the fewest repeats of a level.

    `estimate` is None where too few repeats say how sure the logarithm is.
    """

    log: float
    n: int
    estimate: Estimate | None = None

    @property
    def throughput(self) -> float:
        return math.exp(self.log)


@dataclass(frozen=True, slots=True)
class Effect:
    """The factor by which steps multiply throughput; None until all runs that it rests on have a result.

    `steps` are their numbers from 1. Of two steps it is their interaction: how many times what the two effects give
    together. `aliases` are the effects (of steps by number) that the same runs cannot tell from it.
    """

    steps: tuple[int, ...]
    ratio: Ratio | None
    aliases: tuple[Alias, ...] = ()


@dataclass(frozen=True)
class Effects:
    """The effects of a series. `treatments` and `measured` go together, the baseline first; None has no result yet.

    `levels` are those that all treatments with results have in common.
    """

    kind: Kind
    treatments: tuple[Treatment, ...]
    measured: tuple[Measured | None, ...]
    levels: tuple[int, ...]
    withheld: Withheld | None = None
    design: Fraction | None = None

    @cached_property
    def steps(self) -> tuple[Effect, ...]:
        """Return the effect of each step, corrected for their number (Holm)."""
        if self.design is not None:
            return _corrected([self._factor_effect(self.design, place) for place in range(self.design.factors)])
        numbers = range(1, len(self.treatments))
        before = [number - 1 if self.kind == CUMULATIVE else 0 for number in numbers]
        return _corrected(
            [Effect((number,), self.between(number, place)) for number, place in zip(numbers, before, strict=True)]
        )

    @cached_property
    def interactions(self) -> tuple[Effect, ...]:
        """Return the two-factor interactions that are no factor's alias, corrected for their number."""
        if self.design is None:
            return ()
        return _corrected([self._interaction(self.design, pair) for pair in self.design.interactions()])

    @cached_property
    def over_baseline(self) -> tuple[Ratio | None, ...]:
        """Return each treatment against the baseline, corrected for their number; of the baseline itself None."""
        effects = [Effect((), self.between(place, 0)) for place in range(1, len(self.treatments))]
        return (None, *(effect.ratio for effect in _corrected(effects)))

    @property
    def total(self) -> Ratio | None:
        """Return all cumulative steps together, which was measured: the last treatment as it is over the baseline."""
        return self.over_baseline[-1] if self.kind == CUMULATIVE else None

    @property
    def is_whole(self) -> bool:
        return all(self.measured)

    def between(self, place: int, baseline: int) -> Ratio | None:
        """Return the ratio of two treatments; None while one of them has no result."""
        return self._contrast({place: 1.0, baseline: -1.0})

    def rivals(self, best: int, places: Sequence[int]) -> list[int]:
        """Return those of the places that are not told apart from the best of them, as the test and Holm go."""
        others = [place for place in places if place != best]
        effects = _corrected([Effect((), self.between(best, place)) for place in others])
        return [
            place
            for place, effect in zip(others, effects, strict=True)
            if effect.ratio is None or not effect.ratio.is_distinguishable
        ]

    def _factor_effect(self, design: Fraction, place: int) -> Effect:
        weights = _weights(design, (place,), 2.0)
        return Effect((place + 1,), self._contrast(weights), _numbered(design.aliases((place,))))

    def _interaction(self, design: Fraction, pair: tuple[int, int]) -> Effect:
        # Twice the textbook's interaction: how an effect on the logarithm changes with the other step, not its mean.
        weights = _weights(design, pair, 4.0)
        return Effect((pair[0] + 1, pair[1] + 1), self._contrast(weights), _numbered(design.aliases(pair)))

    def _contrast(self, weights: Mapping[int, float]) -> Ratio | None:
        """Return e to the weighted sum of logarithms; tested where there are repeats enough and they scatter."""
        rows = {place: self.measured[place] for place in weights}
        terms = [(row, weights[place]) for place, row in rows.items() if row is not None]
        if len(terms) < len(weights):
            return None
        n, baseline_n = (min(row.n for row, weight in terms if weight * sign > 0) for sign in (1, -1))
        estimates = [row.estimate.scaled(weight) for row, weight in terms if row.estimate is not None]
        if len(estimates) == len(terms) and (difference := estimate.total(estimates)).has_scatter:
            return ratio.without_bounds(ratio.tested(difference, n, baseline_n), self._why_withheld(weights))
        return Ratio(math.exp(math.fsum(weight * row.log for row, weight in terms)), None, None, n, baseline_n)

    def _why_withheld(self, weights: Mapping[int, float]) -> str:
        if self.withheld is None:
            return ""
        plus = [place for place, weight in weights.items() if weight > 0]
        minus = [place for place, weight in weights.items() if weight < 0]
        reasons = (self.withheld(place, other) for place in plus for other in minus)
        return next(filter(None, reasons), "")


def effects(
    kind: Kind,
    treatments: Sequence[Treatment],
    results: Sequence[Levels],
    withheld: Withheld | None = None,
    design: Fraction | None = None,
) -> Effects:
    """Return the effects of a series by its results: of each treatment clients -> repeats, empty for none yet.

    `design` is that of a factorial. A level counts that all treatments with results have.
    """
    if (kind == FACTORIAL) != (design is not None):
        raise ValueError("A factorial has a design, and no other series has one.")
    common = [set(levels) for levels in results if levels]
    levels = tuple(sorted(set.intersection(*common))) if common else ()
    measured = tuple(_measured(row, levels) if row and levels else None for row in results)
    return Effects(kind, tuple(treatments), measured, levels, withheld, design)


def _measured(row: Levels, levels: Sequence[int]) -> Measured:
    repeats = [row[level] for level in levels]
    n = min(map(len, repeats))
    log = math.fsum(map(log_mean, repeats)) / len(repeats)
    return Measured(
        log, n, estimate.mean(list(map(estimate.of_repeats, repeats))) if n >= FEWEST_FOR_INTERVAL else None
    )


def _weights(design: Fraction, factors: Sequence[int], scale: float) -> dict[int, float]:
    """Return the contrast of an effect: +scale/size where its product of levels is high, else -scale/size."""
    share = scale / design.size
    signs = [math.prod(1 if factor in places else -1 for factor in factors) for places in design.treatments]
    return {place: share * sign for place, sign in enumerate(signs)}


def _numbered(aliases: Sequence[Alias]) -> tuple[Alias, ...]:
    return tuple(Alias(tuple(place + 1 for place in alias.factors), alias.sign) for alias in aliases)


def _corrected(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    p_values = {
        place: effect.ratio.p for place, effect in enumerate(effects) if effect.ratio and effect.ratio.is_tested
    }
    adjusted = dict(zip(p_values, estimate.holm([p for p in p_values.values() if p is not None]), strict=True))
    return tuple(
        replace(effect, ratio=replace(effect.ratio, adjusted_p=adjusted.get(place))) if effect.ratio else effect
        for place, effect in enumerate(effects)
    )
