"""Judge how steady one run was by its throughput per second: the end of warm-up, trend, stalls, variation."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise

from benchhub.analysis.statistics.student import t_outside

from .chance import CHANCE, Chance

FEWEST = 20
BATCHES = 10
STALL_SHARE = 0.1
# A start that is this far from the rest, a trend of this much from end to end, and a variation of this much are
# more than runs on a quiet host show.
WARM_UP_PERCENT = 5.0
WARM_UP_ERRORS = 4.0
TREND_PERCENT = 5.0
TREND_P = 0.01
VARIATION_PERCENT = 20.0
POISSON = Chance()

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The first `end_s` seconds ran at `percent` of what the rest did."""

    end_s: float
    percent: float


@dataclass(frozen=True, slots=True)
class Trend:
    """The change of throughput from the beginning to the end, by a line through batch means; `p` of no change."""

    percent: float
    p: float


@dataclass(frozen=True, slots=True)
class Steadiness:
    """`stalls_s` are the lengths in seconds of the times with less than a tenth of the median. Where there are too few
    values, or they do not vary, `trend` is None; `warm_up` is None where the start was like the rest. `stall_spans_s`
    are the seconds of the series where each stall began and ended. `is_beyond_chance`: so few transactions a second do
    not vary so much by chance alone.
    """

    seconds: float
    variation_percent: float
    warm_up: WarmUp | None
    trend: Trend | None
    stalls_s: tuple[float, ...]
    stall_spans_s: tuple[Span, ...] = ()
    is_beyond_chance: bool = True

    @property
    def has_trend(self) -> bool:
        return self.trend is not None and abs(self.trend.percent) >= TREND_PERCENT and self.trend.p < TREND_P

    @property
    def varies(self) -> bool:
        return self.variation_percent > VARIATION_PERCENT and self.is_beyond_chance


def of_series(values: Sequence[float | None], step_s: float = 1.0, chance: Chance = POISSON) -> Steadiness | None:
    """Return the steadiness of a series of throughput, one value per `step_s` seconds; unknown ones are left out.

    `chance` says how much numbers of transactions vary by themselves, and of how many seconds each report is.
    None with fewer than 20 known values, or if all are 0: too little to judge by.
    """
    places = [place for place, value in enumerate(values) if value is not None]
    numbers = [value for value in values if value is not None]
    if len(numbers) < FEWEST or not any(numbers):
        return None
    mean = statistics.fmean(numbers)
    stalls = _stalls(numbers, step_s, chance)
    return Steadiness(
        seconds=len(numbers) * step_s,
        variation_percent=100 * statistics.stdev(numbers) / mean,
        warm_up=_warm_up(numbers, step_s),
        trend=_trend(numbers),
        stalls_s=tuple((end - begin) * step_s for begin, end in stalls),
        stall_spans_s=tuple((places[begin] * step_s, (places[end - 1] + 1) * step_s) for begin, end in stalls),
        is_beyond_chance=_is_beyond_chance(numbers, step_s, chance),
    )


def _is_beyond_chance(values: Sequence[float], step_s: float, chance: Chance) -> bool:
    """Tell whether numbers of transactions vary more than by chance: a rate is that of all seconds of its report."""
    dispersion = max(step_s, chance.interval_s) * statistics.variance(values) / statistics.fmean(values)
    return dispersion > chance.most_dispersion(len(values) * step_s)


def _warm_up(values: Sequence[float], step_s: float) -> WarmUp | None:
    """Cut off the start where that leaves the mean of the rest surest (MSER, White 1997); at most half of the run.

    A cut alone proves nothing, since chance also makes one: it counts where start and rest lie far enough apart, in
    per cent and in standard errors of the start, which are larger where neighbouring seconds are alike. Of few
    transactions chance leaves some out.
    """
    squares = _squares_from(values)
    end = min(range(len(values) // 2 + 1), key=lambda cut: squares[cut] / (len(values) - cut) ** 2)
    if end == 0:
        return None
    start, rest = statistics.fmean(values[:end]), values[end:]
    steady, distance = statistics.fmean(rest), abs(start - statistics.fmean(rest))
    error = statistics.stdev(rest) * (_variance_factor(rest) / end) ** 0.5
    is_near = distance < WARM_UP_PERCENT / 100 * steady or distance < WARM_UP_ERRORS * error
    if not steady or is_near or distance * end * step_s < CHANCE:
        return None
    return WarmUp(end * step_s, 100 * start / steady)


def _squares_from(values: Sequence[float]) -> list[float]:
    """Return for each place the squared deviations of the values from there on, from their mean (Welford, 1962).

    Each of them anew would take a minute of a series of some hours.
    """
    mean, squares, sums = 0.0, 0.0, list[float]()
    for number, value in enumerate(reversed(values), start=1):
        distance = value - mean
        mean += distance / number
        squares += distance * (value - mean)
        sums.append(squares)
    return sums[::-1]


def _variance_factor(values: Sequence[float]) -> float:
    """Return by what factor the correlation of neighbours raises the variance of a mean above that of independent
    values.
    """
    mean = statistics.fmean(values)
    squares = sum((value - mean) ** 2 for value in values)
    products = sum((a - mean) * (b - mean) for a, b in pairwise(values))
    correlation = min(0.95, max(0.0, products / squares)) if squares else 0.0
    return (1 + correlation) / (1 - correlation)


def _trend(values: Sequence[float]) -> Trend | None:
    """Fit a straight line through the means of ten batches: neighbouring seconds are alike, their batches less so."""
    size = len(values) // BATCHES
    batches = [statistics.fmean(values[i * size : (i + 1) * size]) for i in range(BATCHES)]
    numbers = range(BATCHES)
    slope, intercept = statistics.linear_regression(numbers, batches)
    residual = sum((batch - intercept - slope * number) ** 2 for number, batch in zip(numbers, batches, strict=True))
    error = (residual / (BATCHES - 2) / sum((number - (BATCHES - 1) / 2) ** 2 for number in numbers)) ** 0.5
    if not slope:
        return None
    change = 100 * slope * (BATCHES - 1) / statistics.fmean(batches)
    return Trend(change, t_outside(slope / error, BATCHES - 2) if error else 0.0)


def _stalls(values: Sequence[float], step_s: float, chance: Chance) -> list[tuple[int, int]]:
    """Return the first value of each stall, and the first one after it; of few transactions none that chance makes."""
    usual = statistics.median(values)
    low = runs_of([value < STALL_SHARE * usual for value in values])
    lengths_s = [max(0.0, (end - begin) * step_s - (0.0 if begin else chance.first_s)) for begin, end in low]
    are_stalls = chance.stalls(lengths_s, usual, len(values) * step_s)
    return [span for span, is_stall in zip(low, are_stalls, strict=True) if is_stall]


def runs_of(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """Return where each run of set flags begins, and where it is over."""
    ends = [0, *accumulate(len(list(group)) for _, group in groupby(flags))]
    return [(begin, end) for begin, end in pairwise(ends) if flags[begin]]


def sentences(steadiness: Steadiness) -> list[str]:
    """Return a sentence with its numbers for each way in which the run was not steady; none for a steady run."""
    return [text for text, _ in findings(steadiness)]


def findings(steadiness: Steadiness) -> list[tuple[str, tuple[Span, ...]]]:
    """Return each of the sentences with the seconds it is about; without any where it is about the whole run."""
    pairs: list[tuple[str, tuple[Span, ...]]] = []
    if steadiness.warm_up:
        text = (
            f"The first {steadiness.warm_up.end_s:g} s ran at {steadiness.warm_up.percent:.0f}% of the throughput of "
            "the rest: warm-up reaches into the measured part and shifts its mean. Warm up longer."
        )
        pairs.append((text, ((0.0, steadiness.warm_up.end_s),)))
    if steadiness.has_trend and steadiness.trend:
        verb = "rose" if steadiness.trend.percent > 0 else "fell"
        text = (
            f"Throughput {verb} by {abs(steadiness.trend.percent):.0f}% from the beginning of the run to its end: its "
            "mean depends on the duration. Run longer."
        )
        pairs.append((text, ()))
    if steadiness.stalls_s:
        pairs.append((_stalls_sentence(steadiness.stalls_s), steadiness.stall_spans_s))
    if steadiness.varies:
        text = (
            f"Throughput varied by {steadiness.variation_percent:.0f}% from second to second (coefficient of "
            f"variation; more than {VARIATION_PERCENT:g}% is not steady). Run longer, for a surer mean."
        )
        pairs.append((text, ()))
    return pairs


def _stalls_sentence(stalls_s: Sequence[float]) -> str:
    times = f"once, for {stalls_s[0]:g} s"
    if len(stalls_s) > 1:
        times = f"{len(stalls_s)} times, for {max(stalls_s):g} s at the longest"
    return (
        f"The load stood still {times} (below a tenth of its median throughput), which lowers the mean. Look at what "
        "else happened then."
    )
