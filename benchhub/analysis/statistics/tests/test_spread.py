import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.statistics.spread import INTERVAL, RANGE, sample_variance, summarise
from benchhub.analysis.words import round_significant

positive = st.floats(min_value=1e-3, max_value=1e9)


def test_two_repeats_are_summed_up_by_their_range():
    spread = summarise([900.0, 1100.0])
    assert (spread.n, spread.mean, spread.median) == (2, 1000.0, 1000.0)
    assert (spread.lowest, spread.highest, spread.kind) == (900.0, 1100.0, RANGE)
    assert spread.percent == pytest.approx(20.0)


def test_one_value_has_no_spread_rather_than_a_spread_of_zero():
    assert summarise([1000.0]).percent is None


def test_two_repeats_have_no_interval_however_close_they_are():
    assert summarise([1000.0, 1000.0]).interval is None


def test_three_repeats_show_the_interval_of_their_mean():
    spread = summarise([90.0, 100.0, 110.0])
    # s = 10, t of 2 degrees of freedom is 4.302653: 4.302653 x 10 / sqrt(3) = 24.84138
    assert spread.kind == INTERVAL
    assert (spread.low, spread.high) == (pytest.approx(75.15862), pytest.approx(124.84138))
    assert spread.percent == pytest.approx(49.68276)
    assert (spread.lowest, spread.highest) == (90.0, 110.0)


def test_the_interval_lies_around_the_mean_and_not_around_the_median():
    spread = summarise([10.0, 11.0, 15.0])
    assert spread.median == 11.0
    assert (spread.low + spread.high) / 2 == pytest.approx(spread.mean) == pytest.approx(12.0)


def test_an_interval_that_would_reach_below_0_is_none_and_the_range_stands_in_its_place():
    # mean 7 / 3, s = 1.5275: 4.302653 x 1.5275 / sqrt(3) = 3.7946, so that the interval would begin at -1.46
    spread = summarise([1.0, 2.0, 4.0])
    assert (spread.kind, spread.low, spread.high) == (RANGE, 1.0, 4.0)


def test_five_repeats_by_hand():
    # mean 12, deviations -2, -1, 0, 1, 2: s = sqrt(10 / 4) = 1.581139; 2.776445 x 1.581139 / sqrt(5) = 1.963243
    spread = summarise([10.0, 11.0, 12.0, 13.0, 14.0])
    assert (spread.low, spread.high) == (pytest.approx(10.036757), pytest.approx(13.963243))


def test_the_standard_deviation_is_that_of_a_sample():
    assert summarise([10.0, 11.0, 12.0, 13.0, 14.0]).sd == pytest.approx(1.581139)  # sqrt(10 / 4)
    assert summarise([10.0]).sd is None


def test_equal_repeats_leave_an_interval_without_width():
    spread = summarise([7.0, 7.0, 7.0])
    assert (spread.low, spread.high, spread.percent) == (7.0, 7.0, 0.0)


@pytest.mark.parametrize(("values", "digits"), [([1000.0, 1009.0], 4), ([1000.0, 1020.0], 3), ([1000.0], 3)])
def test_repeats_that_agree_within_one_per_cent_leave_four_digits(values, digits):
    assert summarise(values).digits == digits


@pytest.mark.parametrize("values", [[], [0.0], [-1.0], [float("nan")], [float("inf"), 3.0]])
def test_what_is_no_throughput_is_refused(values):
    with pytest.raises(ValueError, match=r"no value|not a throughput"):
        summarise(values)


@pytest.mark.parametrize(
    ("value", "digits", "rounded"),
    [(21_347.6, 3, 21_300), (21_347.6, 4, 21_350), (0.012345, 3, 0.0123), (999.6, 3, 1000), (0, 3, 0)],
)
def test_rounding_keeps_significant_digits(value, digits, rounded):
    assert round_significant(value, digits) == pytest.approx(rounded, rel=1e-12)


@given(st.lists(positive, min_size=1, max_size=20))
def test_median_and_mean_lie_within_the_range(values):
    spread = summarise(values)
    tolerance = 1e-9 * spread.highest
    assert spread.lowest - tolerance <= spread.mean <= spread.highest + tolerance
    assert spread.lowest <= spread.median <= spread.highest


def test_the_sample_variance_is_that_of_the_exact_sums():
    # Mean 4; 9 + 1 + 0 + 1 + 9 = 20, over 4
    assert sample_variance([1.0, 3.0, 4.0, 5.0, 7.0]) == 5.0
    assert sample_variance([0.1, 0.1, 0.1]) == 0.0  # although 3 x 0.1 / 3 is not 0.1 in binary


@given(st.lists(positive, min_size=2, max_size=20))
def test_the_sample_variance_is_as_exact_as_fractions_are(values):
    tolerance = 1e-12 * (max(values) - min(values)) ** 2
    assert sample_variance(values) == pytest.approx(statistics.variance(values), rel=1e-9, abs=tolerance)
