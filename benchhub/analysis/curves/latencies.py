"""Latencies of repeats together: their histograms are merged, never their percentiles.

The percentile of a level is that of all transactions of its repeats. Where only a share of a run's transactions was
logged, each logged one stands for as many as it was drawn from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchhub.analysis.words import word

SAMPLES_ABOVE = 10
METHOD = (
    "percentile of all transactions of the repeats, from their merged histograms (bins at most 1/512 wide); not shown "
    f"where fewer than {SAMPLES_ABOVE} logged transactions are expected above it"
)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Logged transactions of one run by latency in microseconds; bin i counts those in `lower_us[i]` to `upper_us[i]`
    (not included). `sampling_rate` is the share of transactions that was logged.
    """

    lower_us: Sequence[int]
    upper_us: Sequence[int]
    counts: Sequence[int]
    min_us: int
    max_us: int
    sampling_rate: float = 1.0

    @property
    def samples(self) -> int:
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class Merged:
    """Bins of several runs in the order of latency: (middle in microseconds, transactions that it stands for).

    `samples` were logged. `effective` is how many of one and the same weight would be as good (Kish): fewer, where
    some stand for more transactions than others.
    """

    bins: tuple[tuple[float, float], ...]
    samples: int
    effective: float
    min_us: int
    max_us: int

    def percentile_us(self, share: float) -> float | None:
        """Return the latency that this share (between 0 and 1) of the transactions does not exceed.

        It is the middle of its bin. None if too few samples are expected above it: a few accidents are no property.
        """
        if not 0 < share < 1:
            raise ValueError(f"A percentile is asked for as a share between 0 and 1, not {share}.")
        # The rounding undoes what binary fractions leave: 0.1 of 100 must be 10, not a little less.
        if round((1 - share) * self.effective, 6) < SAMPLES_ABOVE:
            return None
        rank, passed = round(share * sum(weight for _, weight in self.bins), 6), 0.0
        for middle, weight in self.bins:
            passed += weight
            if round(passed, 6) >= rank:
                return min(max(middle, self.min_us), self.max_us)
        return float(self.max_us)


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latencies of a level: percentiles in milliseconds (None: too few samples). Counts of transactions stand beside.

    `samples` are the logged transactions of all `repeats`; `is_sampled` says that others were not logged.
    """

    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    repeats: int
    samples: int
    is_sampled: bool = False

    @property
    def words(self) -> str:
        count_text = f"{self.samples:,} {'logged ' if self.is_sampled else ''}transactions"
        return f"{count_text} of {self.repeats} {word('run', self.repeats)}"


def merge(histograms: Sequence[Histogram]) -> Merged:
    """Merge all transactions of these runs. Raises ValueError where none was logged."""
    filled = [histogram for histogram in histograms if histogram.samples]
    if not filled:
        raise ValueError("There is no transaction whose latency is known.")
    most = max(histogram.sampling_rate for histogram in filled)
    weights = [most / histogram.sampling_rate for histogram in filled]
    counts = [histogram.samples for histogram in filled]
    total = sum(weight * count for weight, count in zip(weights, counts, strict=True))
    squares = sum(weight**2 * count for weight, count in zip(weights, counts, strict=True))
    return Merged(
        bins=_bins(filled, weights),
        samples=sum(counts),
        effective=total**2 / squares,
        min_us=min(histogram.min_us for histogram in filled),
        max_us=max(histogram.max_us for histogram in filled),
    )


def _bins(histograms: Sequence[Histogram], weights: Sequence[float]) -> tuple[tuple[float, float], ...]:
    count_by_bound: dict[float, float] = {}
    for histogram, weight in zip(histograms, weights, strict=True):
        for lower, upper, count in zip(histogram.lower_us, histogram.upper_us, histogram.counts, strict=True):
            middle = (lower + upper - 1) / 2
            count_by_bound[middle] = count_by_bound.get(middle, 0.0) + weight * count
    return tuple(sorted(count_by_bound.items()))


def of_repeats(histograms: Iterable[Histogram | None]) -> Latencies | None:
    """Return the latencies of a level. None if those of one repeat are not known: it may be the one that stalled."""
    repeats = list(histograms)
    logged = [histogram for histogram in repeats if histogram is not None]
    if len(logged) < len(repeats) or not any(histogram.samples for histogram in logged):
        return None
    merged = merge(logged)
    percentiles_us = (merged.percentile_us(share) for share in (0.5, 0.95, 0.99))
    p50, p95, p99 = (None if latency_us is None else latency_us / 1000 for latency_us in percentiles_us)
    return Latencies(
        p50, p95, p99, len(logged), merged.samples, any(histogram.sampling_rate < 1 for histogram in logged)
    )
