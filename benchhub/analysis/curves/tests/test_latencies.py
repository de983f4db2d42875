import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.curves import latencies
from benchhub.analysis.curves.latencies import Histogram


def histogram(values_us, sampling_rate=1.0):
    counts = sorted(Counter(values_us).items())
    lower = [value for value, _ in counts]
    return Histogram(lower, [value + 1 for value in lower], [n for _, n in counts], lower[0], lower[-1], sampling_rate)


def test_the_percentile_of_two_repeats_is_that_of_all_their_transactions_and_no_mean_of_percentiles():
    quick, slow = histogram([1000] * 900), histogram([5000] * 100)
    level_latencies = latencies.of_repeats([quick, slow])
    # 900 of 1,000 take 1 ms: the median is 1 ms, and what 95% do not exceed is 5 ms. Percentiles' mean would be 3 ms.
    assert (level_latencies.p50_ms, level_latencies.p95_ms, level_latencies.p99_ms) == (1.0, 5.0, 5.0)
    assert (level_latencies.repeats, level_latencies.samples, level_latencies.words) == (
        2,
        1000,
        "1,000 transactions of 2 runs",
    )


def test_one_to_a_thousand_microseconds_in_two_halves_have_the_percentiles_counted_by_hand():
    merged = latencies.merge([histogram(range(1, 501)), histogram(range(501, 1001))])
    assert [merged.percentile_us(share) for share in (0.5, 0.9, 0.95, 0.99)] == [500, 900, 950, 990]


def test_a_logged_transaction_stands_for_as_many_as_it_was_drawn_from():
    """100 transactions of 1 ms, all logged, and 100 logged of 1,000 of 2 ms: 91% of the 1,100 take 2 ms."""
    all_of_them, a_tenth = histogram([1000] * 100), histogram([2000] * 100, sampling_rate=0.1)
    merged = latencies.merge([all_of_them, a_tenth])
    assert merged.bins == ((1000.0, 100.0), (2000.0, 1000.0))
    assert merged.percentile_us(0.5) == 2000
    # Kish: (100 + 100 x 10)^2 / (100 x 1 + 100 x 100) = 1,210,000 / 10,100 = 119.8 samples of one weight.
    assert merged.effective == pytest.approx(119.80, abs=0.01)
    assert merged.samples == 200
    assert latencies.of_repeats([all_of_them, a_tenth]).words == "200 logged transactions of 2 runs"


def test_equal_sampling_rates_weigh_nothing():
    halves = [histogram([1000] * 60, 0.25), histogram([3000] * 60, 0.25)]
    merged = latencies.merge(halves)
    assert (merged.effective, merged.bins) == (120, ((1000.0, 60.0), (3000.0, 60.0)))


@pytest.mark.parametrize(("samples", "share", "is_shown"), [(199, 0.95, False), (200, 0.95, True), (999, 0.99, False)])
def test_a_percentile_from_too_few_samples_is_not_shown(samples, share, is_shown):
    """Ten must be expected above it: 5% of 200."""
    halves = [histogram([7] * (samples // 2)), histogram([7] * (samples - samples // 2))]
    assert (latencies.merge(halves).percentile_us(share) is not None) == is_shown


def test_repeats_with_too_few_samples_each_may_have_enough_together():
    assert latencies.of_repeats([histogram([50] * 120)]).p95_ms is None
    assert latencies.of_repeats([histogram([50] * 120), histogram([50] * 120)]).p95_ms == 0.05


def test_samples_that_stand_for_many_are_worth_fewer():
    """1,000 of weight 1 and 10 of weight 100: (1,000 + 1,000)^2 / (1,000 + 100,000) = 39.6, of which 5% is 2."""
    merged = latencies.merge([histogram([10] * 1000), histogram([900] * 10, sampling_rate=0.01)])
    assert merged.effective == pytest.approx(39.6, abs=0.01)
    assert merged.percentile_us(0.95) is None
    assert merged.percentile_us(0.5) == 10


def test_a_repeat_without_latencies_leaves_the_level_without_percentiles():
    assert latencies.of_repeats([histogram([10] * 1000), None]) is None
    assert latencies.of_repeats([]) is None


def test_a_repeat_that_logged_nothing_takes_nothing_away():
    empty = Histogram((), (), (), 0, 0)
    assert latencies.of_repeats([histogram([10] * 1000), empty]).p99_ms == 0.01
    assert latencies.of_repeats([empty]) is None
    with pytest.raises(ValueError, match="no transaction"):
        latencies.merge([empty])


def test_wide_bins_are_read_at_their_middle_and_never_beyond_what_was_seen():
    wide = Histogram([2048], [2052], [100], 2051, 2051)
    assert latencies.merge([wide]).percentile_us(0.5) == 2051
    with pytest.raises(ValueError, match="between 0 and 1"):
        latencies.merge([wide]).percentile_us(95)


@given(st.lists(st.lists(st.integers(0, 5000), min_size=1, max_size=80), min_size=1, max_size=4), st.randoms())
def test_how_transactions_are_split_among_repeats_changes_nothing(parts: list[list[int]], chance: random.Random):
    values_us = [value for part in parts for value in part]
    chance.shuffle(parts)
    split, merged = latencies.merge(list(map(histogram, parts))), latencies.merge([histogram(values_us)])
    assert split == merged
    if (median := merged.percentile_us(0.5)) is not None:
        assert median == sorted(values_us)[(len(values_us) + 1) // 2 - 1]
