import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.spread import RANGE, round_significant, summarise

positive = st.floats(min_value=1e-3, max_value=1e9)


def test_two_repeats_are_summed_up_by_their_range():
    spread = summarise([900.0, 1100.0])
    assert (spread.n, spread.mean, spread.median) == (2, 1000.0, 1000.0)
    assert (spread.lowest, spread.highest, spread.kind) == (900.0, 1100.0, RANGE)
    assert spread.percent == pytest.approx(20.0)


def test_one_value_has_no_spread_rather_than_a_spread_of_zero():
    assert summarise([1000.0]).percent is None


def test_three_repeats_still_show_their_range_and_not_an_interval():
    assert summarise([1.0, 2.0, 4.0]).kind == RANGE
    assert summarise([1.0, 2.0, 4.0]).median == 2.0
    assert summarise([1.0, 2.0, 4.0]).mean == pytest.approx(7 / 3)


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
