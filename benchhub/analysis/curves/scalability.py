"""Fit Gunther's Universal Scalability Law to a curve: X(N) = l N / (1 + s (N - 1) + k N (N - 1)).

l is the throughput of one client, s the share of work that queues for something (contention), k the cost of keeping
clients coherent with each other. N / X is a polynomial in N with coefficients 1 / l, s / l and k / l, which least
squares finds; weighted so that residuals count in per cent of throughput, as noise does.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchhub.analysis.statistics.spread import sample_variance
from benchhub.analysis.statistics.student import CONFIDENCE, f_above, t_quantile

METHOD = "weighted least squares of clients / throughput; intervals by the delta method with Student's t"
FEWEST_LEVELS = 5
LACK_OF_FIT_P = 0.01
ROUNDS = 50
Levels = Mapping[int, Sequence[float]]
Term = Callable[[int], float]
TERMS: tuple[Term, ...] = (lambda _: 1.0, lambda n: n - 1.0, lambda n: n * (n - 1.0))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value with its 95% interval; without one (None) where it lies at 0, the edge of what it can be."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Law:
    """The fitted law. `single` is in the unit of the curve; `residuals_percent` by clients, of the
    level's geometric mean.

    `lack_of_fit_p` is the chance of residuals as large if the law held, judged by the scatter of repeats; None without
    repeats. `highest_clients` is where the data end.
    """

    single: Parameter
    contention: Parameter
    coherency: Parameter
    residuals_percent: Mapping[int, float]
    lack_of_fit_p: float | None
    lowest_clients: int
    highest_clients: int

    def throughput(self, clients: float) -> float:
        queueing = self.contention.value * (clients - 1) + self.coherency.value * clients * (clients - 1)
        return self.single.value * clients / (1 + queueing)

    @property
    def peak_clients(self) -> float | None:
        """Return the clients at which the law has its peak; None if it only rises."""
        contention, coherency = self.contention.value, self.coherency.value
        if not coherency or contention >= 1:
            return None
        return max(1.0, math.sqrt((1 - contention) / coherency))

    @property
    def peaks_beyond_the_data(self) -> bool:
        return self.peak_clients is None or self.peak_clients > self.highest_clients

    @property
    def holds(self) -> bool:
        """Tell whether the residuals are no larger than repeats make likely."""
        return self.lack_of_fit_p is None or self.lack_of_fit_p >= LACK_OF_FIT_P


def fit(levels: Levels) -> Law | None:
    """Fit the law to clients -> repeats. None with fewer than five levels: three parameters would simply run through.

    Contention and coherency cannot be negative: where the best fit would make one so, it is 0 and the rest is fitted
    again.
    """
    if len(levels) < FEWEST_LEVELS:
        return None
    if (full_model := _feasible(levels, (0, 1, 2))) is not None:
        return _law(full_model, levels)
    feasible = [model for used in ((0, 2), (0, 1), (0,)) if (model := _feasible(levels, used)) is not None]
    return _law(min(feasible, key=lambda model: model.squares), levels) if feasible else None


def _feasible(levels: Levels, used: tuple[int, ...]) -> _Solution | None:
    solution = _solve(levels, used)
    if solution is None or min(solution.coefficients) < 0 or solution.coefficients[0] <= 0:
        return None
    return solution


@dataclass(frozen=True, slots=True)
class _Solution:
    """`coefficients` of all TERMS, 0 for those not used; `covariance` of those in `used`."""

    coefficients: tuple[float, float, float]
    used: tuple[int, ...]
    covariance: tuple[tuple[float, ...], ...]
    squares: float
    degrees: int


@dataclass(frozen=True, slots=True)
class _Repeats:
    """One level: the terms in use at its clients, its number of repeats, and the sum of clients / throughput."""

    terms: tuple[float, ...]
    count: int
    goal: float


def _solve(levels: Levels, used: tuple[int, ...]) -> _Solution | None:
    """Solve for least squares of relative residuals: weights are those of the fit before, until they settle.

    Repeats of a level share their terms and so their fit: what is summed up of them once serves every round.
    """
    repeats = [
        _Repeats(tuple(TERMS[i](n) for i in used), len(values), sum(n / value for value in values))
        for n, values in sorted(levels.items())
    ]
    fitted = [repeat.goal / repeat.count for repeat in repeats]
    before: list[float] = []
    for _ in range(ROUNDS):
        solution = _least_squares(repeats, fitted, len(used))
        if solution is None:
            return None
        coefficients, inverse = solution
        fitted = [sum(c * term for c, term in zip(coefficients, repeat.terms, strict=True)) for repeat in repeats]
        if min(fitted) <= 0:
            return None
        if before and all(math.isclose(a, b, rel_tol=1e-10) for a, b in zip(before, coefficients, strict=True)):
            break
        before = coefficients
    points = [(n, value, y) for (n, values), y in zip(sorted(levels.items()), fitted, strict=True) for value in values]
    squares = sum(math.log(n / value / y) ** 2 for n, value, y in points)
    degrees = len(points) - len(used)
    covariance = tuple(tuple(squares / degrees * value for value in line) for line in inverse)
    full = dict(zip(used, coefficients, strict=True))
    return _Solution((full[0], full.get(1, 0.0), full.get(2, 0.0)), used, covariance, squares, degrees)


def _least_squares(
    repeats: Sequence[_Repeats], fitted: Sequence[float], size: int
) -> tuple[list[float], list[list[float]]] | None:
    """Return coefficients of the terms and the inverse of their normal matrix; each point is divided by its fit."""
    rows = [(repeat.terms, repeat.count / y**2, repeat.goal / y**2) for repeat, y in zip(repeats, fitted, strict=True)]
    inverse = _inverse([[sum(t[i] * t[j] * weight for t, weight, _ in rows) for j in range(size)] for i in range(size)])
    if inverse is None:
        return None
    moments = [sum(t[i] * goal for t, _, goal in rows) for i in range(size)]
    return [sum(a * b for a, b in zip(line, moments, strict=True)) for line in inverse], inverse


def _inverse(matrix: Sequence[Sequence[float]]) -> list[list[float]] | None:
    """Invert by Gauss and Jordan with pivots, scaled to a diagonal of 1. None if the columns cannot be told apart."""
    size = len(matrix)
    scale = [math.sqrt(matrix[i][i]) for i in range(size)]
    work = [
        [matrix[i][j] / scale[i] / scale[j] for j in range(size)] + [float(i == j) for j in range(size)]
        for i in range(size)
    ]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(work[row][column]))
        if abs(work[pivot][column]) < 1e-12:
            return None
        work[column], work[pivot] = work[pivot], work[column]
        work[column] = [value / work[column][column] for value in work[column]]
        for row in range(size):
            if row != column:
                factor = work[row][column]
                work[row] = [a - factor * b for a, b in zip(work[row], work[column], strict=True)]
    return [[work[i][size + j] / scale[i] / scale[j] for j in range(size)] for i in range(size)]


def _law(solution: _Solution, levels: Levels) -> Law:
    a, b, c = solution.coefficients
    means = {n: math.exp(statistics.fmean(map(math.log, values))) for n, values in sorted(levels.items())}
    fitted = {n: n / (a + b * TERMS[1](n) + c * TERMS[2](n)) for n in means}
    return Law(
        single=_parameter(solution, 0, 1 / a, {0: -1 / a**2}),
        contention=_parameter(solution, 1, b / a, {0: -b / a**2, 1: 1 / a}),
        coherency=_parameter(solution, 2, c / a, {0: -c / a**2, 2: 1 / a}),
        residuals_percent={n: 100 * (mean / fitted[n] - 1) for n, mean in means.items()},
        lack_of_fit_p=_lack_of_fit(solution, levels),
        lowest_clients=min(levels),
        highest_clients=max(levels),
    )


def _parameter(solution: _Solution, place: int, value: float, gradient: Mapping[int, float]) -> Parameter:
    if place not in solution.used:
        return Parameter(value)
    slopes = [gradient.get(used, 0.0) for used in solution.used]
    size = range(len(slopes))
    variance = sum(slopes[i] * slopes[j] * solution.covariance[i][j] for i in size for j in size)
    half = t_quantile(solution.degrees, CONFIDENCE) * math.sqrt(max(0.0, variance))
    return Parameter(value, max(0.0, value - half), value + half)


def _lack_of_fit(solution: _Solution, levels: Levels) -> float | None:
    """Return the p of an F test: what the law leaves over against what repeats scatter by."""
    logs = [[math.log(value) for value in values] for values in levels.values()]
    pure = sum((len(level_logs) - 1) * sample_variance(level_logs) for level_logs in logs if len(level_logs) > 1)
    pure_degrees = sum(len(level_logs) - 1 for level_logs in logs)
    lack_degrees = len(levels) - len(solution.used)
    if not pure or lack_degrees < 1:
        return None
    return f_above(max(0.0, solution.squares - pure) / lack_degrees / (pure / pure_degrees), lack_degrees, pure_degrees)
