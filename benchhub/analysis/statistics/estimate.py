"""Estimate logarithms from repeats: on their scale a ratio is a difference, and a product a sum.

Noise of a throughput is proportional to it, so that logarithms of repeats scatter alike at all levels; an interval
of a ratio can then not reach below 0, and turning the ratio over turns the interval over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .spread import FEWEST_FOR_INTERVAL, log_mean, sample_variance
from .student import CONFIDENCE, t_outside, t_quantile

METHOD = "Welch's t interval of the difference of mean logarithms"
# The verdicts on two numbers that name no winner.
NOT_DISTINGUISHABLE, NOT_TESTED, WITHHELD = "not distinguishable", "not tested", "withheld"
MOST_LOG = 700.0  # e to this power is about the largest number that there is
Part = tuple[float, float]


class TooFewRepeatsError(ValueError):
    pass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A natural logarithm. `parts` are the independent pieces of its uncertainty: (variance, degrees of freedom)."""

    value: float
    parts: tuple[Part, ...]

    @property
    def ratio(self) -> float:
        return _ratio(self.value)

    @property
    def variance(self) -> float:
        return sum(variance for variance, _ in self.parts)

    @property
    def degrees(self) -> float:
        """Return degrees of freedom after Welch and Satterthwaite: exact for one part, close for several."""
        return self.variance**2 / sum(variance**2 / degrees for variance, degrees in self.parts if variance)

    @property
    def has_scatter(self) -> bool:
        """Tell whether there is any scatter. Without it nothing says how sure the value is: no measurement repeats
        itself to the last digit.
        """
        return self.variance > 0

    @property
    def p(self) -> float:
        """Return the chance of a value at least as far from 0 (a ratio as far from 1) if it were 0. Needs scatter."""
        return t_outside(self.value / math.sqrt(self.variance), self.degrees)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the lowest and the highest ratio. Needs scatter."""
        half = t_quantile(self.degrees, confidence) * math.sqrt(self.variance)
        return _ratio(self.value - half), _ratio(self.value + half)

    def scaled(self, factor: float) -> Estimate:
        return Estimate(factor * self.value, tuple((factor**2 * variance, degrees) for variance, degrees in self.parts))

    def __sub__(self, other: Estimate) -> Estimate:
        return Estimate(self.value - other.value, self.parts + other.parts)


def _ratio(logarithm: float) -> float:
    """Return e to this power, or the nearest number that there is."""
    return math.exp(max(-MOST_LOG, min(MOST_LOG, logarithm)))


def why_not_tested(n: int, other_n: int) -> str:
    """Say what two sets of so many repeats lack for a test."""
    if min(n, other_n) < FEWEST_FOR_INTERVAL:
        return f"that takes {FEWEST_FOR_INTERVAL} repeats of each"
    return "equal repeats say nothing about scatter"


def of_repeats(values: Sequence[float]) -> Estimate:
    """Return the mean logarithm of repeats. Raises TooFewRepeatsError below three, ValueError for one not above 0."""
    if len(values) < FEWEST_FOR_INTERVAL:
        raise TooFewRepeatsError(f"{len(values)} repeats say too little about their scatter: there must be three.")
    logs = [math.log(value) for value in values]
    return Estimate(log_mean(values), ((sample_variance(logs) / len(logs), len(logs) - 1),))


def mean(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates: a geometric mean of their ratios."""
    return total(estimates).scaled(1 / len(estimates))


def total(estimates: Iterable[Estimate]) -> Estimate:
    """Return the sum of independent estimates: the product of their ratios."""
    terms = list(estimates)
    return Estimate(sum(term.value for term in terms), tuple(part for term in terms for part in term.parts))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust each of several p-values (Holm 1979).

    Calling those below 5% different calls any difference wrongly in at most 5% of curves, with any number of levels.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted
