import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.statistics import outliers


@pytest.mark.parametrize(
    ("n", "alpha", "printed"), [(4, 0.05, 1.481), (5, 0.05, 1.715), (10, 0.05, 2.290), (5, 0.01, 1.764)]
)
def test_the_critical_distance_is_the_one_in_printed_tables(n, alpha, printed):
    assert outliers.critical(n, alpha) == pytest.approx(printed, abs=0.0006)


def test_one_repeat_far_from_four_that_agree_is_flagged():
    # mean 91, s = sqrt((4 x ~81 + 1296) / 4) = 20.1, (91 - 55) / 20.1 = 1.79 > 1.764
    assert outliers.outlier([100.0, 101.0, 99.0, 100.0, 55.0]) == 4


def test_repeats_that_scatter_evenly_are_not():
    assert outliers.outlier([96.0, 98.0, 100.0, 102.0, 104.0]) is None
    assert outliers.outlier([7.0] * 5) is None


def test_three_repeats_do_not_tell_which_one_is_odd():
    assert outliers.outlier([100.0, 100.1, 50.0]) is None


def test_of_normal_repeats_one_set_in_a_hundred_is_flagged():
    source = random.Random(20261121)
    flagged = sum(outliers.outlier([source.gauss(100, 2) for _ in range(5)]) is not None for _ in range(4000))
    assert 21 <= flagged <= 59  # 40 expected, three standard errors of 6.3


@given(st.floats(0.01, 1e4), st.integers(0, 4))
def test_neither_the_unit_nor_the_place_matters(factor, place):
    values = [100.0, 101.0, 99.0, 100.5]
    values.insert(place, 300.0)
    assert outliers.outlier([value * factor for value in values]) == place


def test_an_outlier_far_beyond_what_all_levels_scatter_by_is_far_off():
    """Repeats lie 1% off, one lies 20% off; where others lie 10% off as well, it is as odd as they are."""
    quiet, odd = [100.0, 101.0, 99.0, 100.5, 99.5], [100.0, 101.0, 99.0, 100.5, 80.0]
    assert outliers.is_far_off([quiet, odd])
    loud = [100.0, 110.0, 90.0, 112.0, 89.0]
    assert not outliers.is_far_off([loud, loud, odd])


def test_of_three_repeats_one_that_is_a_fifth_off_is_far_off_although_no_test_tells_which():
    """Two stalls in a level make the third look fast: 100, 55, 50 lie around 55."""
    quiet = [100.0, 101.0, 99.0]
    assert outliers.is_far_off([quiet, quiet, [100.0, 55.0, 50.0]])
    assert not outliers.is_far_off([quiet, quiet, [100.0, 101.0, 85.0]])
    assert not outliers.is_far_off([[100.0, 130.0, 75.0], [100.0, 70.0, 125.0]]), "no further off than usual"


def test_without_an_outlier_or_any_scatter_nothing_is_far_off():
    assert not outliers.is_far_off([[100.0, 101.0, 99.0, 100.5, 99.5]])
    assert not outliers.is_far_off([[100.0] * 5, [90.0] * 5])
    assert not outliers.is_far_off([[100.0, 50.0], [100.0]])
