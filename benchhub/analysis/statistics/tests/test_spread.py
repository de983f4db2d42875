import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.statistics.spread import INTERVAL, RANGE, sample_variance, summarise
from benchhub.analysis.words import round_significant

positive = st.floats(min_value=1e-3, max_value=1e9)


def test_two_repeats_are_summed_up_by_their_geometric_mean_and_their_range():
    spread = summarise([800.0, 1250.0])
    assert (spread.n, spread.mean) == (2, 1000.0)  # sqrt(800 x 1,250), without traces of logarithms
    assert (spread.lowest, spread.highest, spread.kind) == (800.0, 1250.0, RANGE)
    assert spread.percent == pytest.approx(45.0)


def test_the_mean_is_geometric_and_median_and_arithmetic_mean_stand_beside_it():
    spread = summarise([100.0, 200.0, 1350.0])
    assert spread.mean == pytest.approx(300.0)  # 27,000,000 ** (1/3)
    assert (spread.median, spread.arithmetic_mean) == (200.0, 550.0)


def test_one_value_is_its_own_mean_and_has_no_spread_rather_than_a_spread_of_zero():
    spread = summarise([13_807.4])
    assert (spread.mean, spread.median, spread.percent) == (13_807.4, 13_807.4, None)


def test_equal_values_are_their_own_mean_to_the_last_digit():
    assert summarise([305.7] * 7).mean == 305.7


def test_two_repeats_have_no_interval_however_close_they_are():
    assert summarise([1000.0, 1000.0]).interval is None


def test_three_repeats_show_the_interval_of_their_geometric_mean():
    spread = summarise([math.exp(log) for log in (6.9, 7.0, 7.1)])
    # s of the logarithms 0.1, t of 2 degrees of freedom 4.302653: 4.302653 x 0.1 / sqrt(3) = 0.2484138
    assert spread.kind == INTERVAL
    assert (math.log(spread.low), math.log(spread.high)) == (pytest.approx(6.7515862), pytest.approx(7.2484138))
    assert spread.mean == pytest.approx(math.exp(7.0))


def test_the_interval_lies_around_the_geometric_mean_by_ratio():
    spread = summarise([10.0, 11.0, 15.0])
    assert spread.mean / spread.low == pytest.approx(spread.high / spread.mean)


def test_an_interval_never_reaches_below_0_and_is_none_where_it_says_nothing():
    # s of the logarithms 0.693147: 4.302653 x 0.693147 / sqrt(3) = 1.721868, a factor of 5.5950
    spread = summarise([1.0, 2.0, 4.0])
    assert (spread.low, spread.high) == (pytest.approx(2 / 5.5950, rel=1e-4), pytest.approx(2 * 5.5950, rel=1e-4))
    wild = summarise([1.0, 2.0, 40.0])
    assert (wild.kind, wild.low, wild.high) == (RANGE, 1.0, 40.0)
    assert summarise([1e-300, 1.0, 1e300]).interval is None


def test_five_repeats_by_hand():
    # Logarithms 1 to 5 hundredths: s = sqrt(0.0010 / 4) = 0.01581139; 2.776445 x 0.01581139 / sqrt(5) = 0.01963243
    spread = summarise([math.exp(hundredth / 100) for hundredth in (1, 2, 3, 4, 5)])
    assert (math.log(spread.low), math.log(spread.high)) == (pytest.approx(0.01036757), pytest.approx(0.04963243))


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
def test_median_and_mean_lie_within_the_range_and_the_mean_is_at_most_the_arithmetic_one(values):
    spread = summarise(values)
    assert spread.lowest <= spread.mean <= spread.highest
    assert spread.lowest <= spread.median <= spread.highest
    assert spread.mean <= spread.arithmetic_mean * (1 + 1e-9)


@given(
    st.lists(positive, min_size=1, max_size=8).flatmap(
        lambda values: st.tuples(st.just(values), st.permutations(values))
    )
)
def test_the_mean_does_not_depend_on_the_order_of_the_repeats(pair):
    values, others = pair
    assert summarise(values).mean == summarise(others).mean


def test_the_sample_variance_is_that_of_the_exact_sums():
    # Mean 4; 9 + 1 + 0 + 1 + 9 = 20, over 4
    assert sample_variance([1.0, 3.0, 4.0, 5.0, 7.0]) == 5.0
    assert sample_variance([0.1, 0.1, 0.1]) == 0.0  # although 3 x 0.1 / 3 is not 0.1 in binary


@given(st.lists(positive, min_size=2, max_size=20))
def test_the_sample_variance_is_as_exact_as_fractions_are(values):
    tolerance = 1e-12 * (max(values) - min(values)) ** 2
    assert sample_variance(values) == pytest.approx(statistics.variance(values), rel=1e-9, abs=tolerance)
