"""Latency histograms: how values fall into bins, percentiles, merging, and a plain form to store.

Microseconds below 1,024 have a bin each. A larger value is halved until it is below 1,024, so it falls into a
bin as wide as 1/1024 to 1/512 of itself; the middle of that bin is at most 0.1% away from any value in it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from runners.contract import Histogram

SAMPLES_ABOVE_PERCENTILE = 10
VALUE_BITS = 10

Bin = tuple[int, int]


def bin_of(latency_us: int) -> Bin:
    """Return (shift, value) of the bin: it holds value << shift <= latency < (value + 1) << shift."""
    shift = max(0, latency_us.bit_length() - VALUE_BITS)
    return shift, latency_us >> shift


def from_bins(
    name: str,
    counts: Mapping[Bin, int],
    *,
    sum_us: int,
    min_us: int,
    max_us: int,
    sampling_rate: float = 1.0,
) -> Histogram:
    """Return the histogram of counts by (shift, value), its bins in the order of latency."""
    edges = sorted((value << shift, (value + 1) << shift, count) for (shift, value), count in counts.items())
    return Histogram(
        name=name,
        lower_us=tuple(lower for lower, _, _ in edges),
        upper_us=tuple(upper for _, upper, _ in edges),
        counts=tuple(count for _, _, count in edges),
        sum_us=sum_us,
        min_us=min_us,
        max_us=max_us,
        sampling_rate=sampling_rate,
    )


def percentile_us(histogram: Histogram, p: float) -> float | None:
    """Return the latency, in microseconds, that the share `p` (0 < p < 1) of transactions does not exceed.

    It is the nearest-rank percentile, read at the middle of its bin: within 0.1% of the exact one. None when
    fewer than 10 logged transactions are expected above it: that is a few accidents, not a property.
    """
    if not 0 < p < 1:
        raise ValueError(f"A percentile is asked for as a share between 0 and 1, not {p}.")
    # The rounding undoes what binary fractions leave: 100 - 0.9 * 100 must be 10, not a little less.
    if round(histogram.total - p * histogram.total, 6) < SAMPLES_ABOVE_PERCENTILE:
        return None
    rank = math.ceil(round(p * histogram.total, 6))
    return value_at_rank(histogram, rank)


def value_at_rank(histogram: Histogram, rank: int) -> float:
    """Return the middle of the bin that holds the rank-th smallest latency, counted from 1."""
    passed = 0
    middle = 0.0
    for lower, upper, count in zip(histogram.lower_us, histogram.upper_us, histogram.counts, strict=True):
        passed += count
        middle = (lower + upper - 1) / 2
        if passed >= rank:
            break
    return float(min(max(middle, histogram.min_us), histogram.max_us))


def merge(name: str, histograms: Sequence[Histogram]) -> Histogram:
    """Return one histogram of all transactions. Raises ValueError for none, or for unlike sampling rates."""
    rates = {histogram.sampling_rate for histogram in histograms}
    if len(rates) != 1:
        raise ValueError("Only histograms with one and the same sampling rate can be merged.")
    counts: Counter[tuple[int, int]] = Counter()
    for histogram in histograms:
        for lower, upper, count in zip(histogram.lower_us, histogram.upper_us, histogram.counts, strict=True):
            counts[lower, upper] += count
    edges = sorted(counts)
    filled = [histogram for histogram in histograms if histogram.total]
    return Histogram(
        name=name,
        lower_us=tuple(lower for lower, _ in edges),
        upper_us=tuple(upper for _, upper in edges),
        counts=tuple(counts[edge] for edge in edges),
        sum_us=sum(histogram.sum_us for histogram in filled),
        min_us=min((histogram.min_us for histogram in filled), default=0),
        max_us=max((histogram.max_us for histogram in filled), default=0),
        sampling_rate=rates.pop(),
    )
