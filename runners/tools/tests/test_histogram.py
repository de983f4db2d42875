from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.contract import Histogram
from runners.tools.histogram import bin_of, from_bins, merge, percentile_us

latencies = st.lists(st.integers(0, 10_000_000), min_size=1, max_size=400)


def histogram_of(latencies_us: list[int], name: str = "latency") -> Histogram:
    return from_bins(
        name,
        Counter(map(bin_of, latencies_us)),
        sum_us=sum(latencies_us),
        min_us=min(latencies_us),
        max_us=max(latencies_us),
    )


@pytest.mark.parametrize(
    ("latency_us", "expected"),
    [
        (0, (0, 0)),
        (1, (0, 1)),
        (1_023, (0, 1_023)),
        (1_024, (1, 512)),
        (1_025, (1, 512)),
        (1_026, (1, 513)),
        (2_047, (1, 1_023)),
        (2_048, (2, 512)),
        (1_000_000, (10, 976)),  # 976 x 1,024 = 999,424 <= 1,000,000 < 1,000,448
    ],
)
def test_a_latency_falls_into_its_bin(latency_us: int, expected: tuple[int, int]) -> None:
    assert bin_of(latency_us) == expected


def test_bins_are_in_the_order_of_latency_with_their_edges() -> None:
    histogram = from_bins("latency", {(1, 512): 3, (0, 7): 2}, sum_us=3_086, min_us=7, max_us=1_024)
    assert histogram.lower_us == (7, 1_024)
    assert histogram.upper_us == (8, 1_026)
    assert histogram.counts == (2, 3)
    assert histogram.total == 5


def test_percentiles_of_one_to_a_thousand_are_those_counted_by_hand() -> None:
    histogram = histogram_of(list(range(1, 1_001)))
    assert [percentile_us(histogram, p) for p in (0.5, 0.9, 0.95, 0.99)] == [500, 900, 950, 990]


@pytest.mark.parametrize(
    ("samples", "p", "is_known"), [(999, 0.99, False), (1_000, 0.99, True), (99, 0.9, False), (100, 0.9, True)]
)
def test_a_percentile_needs_ten_transactions_above_it(samples: int, p: float, is_known: bool) -> None:
    assert (percentile_us(histogram_of([5] * samples), p) is not None) == is_known


@pytest.mark.parametrize("p", [0.0, 1.0, 99.0, -0.5])
def test_a_percentile_is_a_share_between_nought_and_one(p: float) -> None:
    with pytest.raises(ValueError, match="share between 0 and 1"):
        percentile_us(histogram_of([5] * 100), p)


def test_a_percentile_never_lies_outside_what_was_seen() -> None:
    # All in one bin, 1,048,576 to 1,050,623 us, whose middle is above them.
    assert percentile_us(histogram_of([1_048_577] * 100), 0.5) == 1_048_577


@given(st.lists(st.integers(0, 10_000_000), min_size=20, max_size=400), st.floats(0.01, 0.99))
def test_percentiles_are_within_a_fifth_of_a_per_cent_of_the_exact_ones(latencies_us: list[int], p: float) -> None:
    read = percentile_us(histogram_of(latencies_us), p)
    if read is not None:
        exact = sorted(latencies_us)[math.ceil(round(p * len(latencies_us), 6)) - 1]
        assert abs(read - exact) <= 0.002 * exact


@given(latencies)
def test_every_latency_lies_within_its_bin_and_small_ones_have_their_own(latencies_us: list[int]) -> None:
    for latency_us in latencies_us:
        shift, value = bin_of(latency_us)
        assert value << shift <= latency_us < (value + 1) << shift
        assert shift == 0 or 512 <= value < 1_024


@given(latencies, latencies)
def test_merging_is_the_same_as_counting_together(first: list[int], second: list[int]) -> None:
    merged = merge("latency", [histogram_of(first, "a"), histogram_of(second, "b")])
    assert merged == histogram_of(first + second)


def test_unlike_sampling_rates_are_not_merged() -> None:
    unsampled = histogram_of([1, 2, 3])
    with pytest.raises(ValueError, match="one and the same sampling rate"):
        merge("latency", [unsampled, replace(unsampled, sampling_rate=0.5)])
    with pytest.raises(ValueError, match="one and the same sampling rate"):
        merge("latency", [])
