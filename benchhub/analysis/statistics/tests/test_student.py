import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.statistics.student import f_above, regularised_beta, t_outside, t_quantile, t_within


@pytest.mark.parametrize(
    ("degrees", "printed"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (5, 2.5706), (9, 2.2622), (10, 2.2281), (19, 2.0930),
     (29, 2.0452), (30, 2.0423), (60, 2.0003), (120, 1.9799)],
)  # fmt: skip
def test_the_t_of_95_per_cent_is_the_one_in_printed_tables(degrees, printed):
    assert t_quantile(degrees) == pytest.approx(printed, abs=0.00005)


@pytest.mark.parametrize(("degrees", "printed"), [(1, 63.6567), (2, 9.9248), (7, 3.4995), (30, 2.7500)])
def test_the_t_of_99_per_cent_is_the_one_in_printed_tables(degrees, printed):
    assert t_quantile(degrees, 0.99) == pytest.approx(printed, abs=0.00005)


def test_closed_forms_of_one_and_two_degrees_of_freedom():
    assert t_within(1.0, 1) == pytest.approx(0.5)  # Cauchy: 2 atan(1) / pi
    assert t_within(2.0, 2) == pytest.approx(2 / math.sqrt(6))  # t / sqrt(2 + t^2)


def test_with_many_degrees_of_freedom_t_is_normal():
    assert t_quantile(100_000) == pytest.approx(1.95996, abs=0.0001)


@pytest.mark.parametrize(("degrees", "confidence"), [(0, 0.95), (-1, 0.95), (2, 0.0), (2, 1.0)])
def test_a_quantile_that_is_none_is_refused(degrees, confidence):
    with pytest.raises(ValueError, match="t quantile"):
        t_quantile(degrees, confidence)


@given(st.integers(min_value=1, max_value=300), st.floats(min_value=0.01, max_value=0.999))
def test_the_quantile_is_where_the_distribution_has_its_confidence(degrees, confidence):
    assert t_within(t_quantile(degrees, confidence), degrees) == pytest.approx(confidence, abs=1e-9)


@pytest.mark.parametrize("degrees", [2.5, 4.7, 7.99])
def test_degrees_that_are_not_whole_lie_between_their_neighbours(degrees):
    assert t_quantile(math.ceil(degrees)) < t_quantile(degrees) < t_quantile(math.floor(degrees))


def test_a_p_value_far_out_keeps_its_digits():
    # Of two degrees, P(|T| > t) = 1 - t / sqrt(2 + t^2), which is 1 / t^2 for large t.
    assert t_outside(1e6, 2) == pytest.approx(1e-12, rel=1e-9)


def test_f_of_one_numerator_degree_is_the_square_of_t():
    assert f_above(2.5**2, 1, 7) == pytest.approx(t_outside(2.5, 7))


@pytest.mark.parametrize(("numerator", "denominator", "printed"), [(2, 10, 4.1028), (5, 20, 2.7109), (3, 32, 2.9011)])
def test_the_f_of_5_per_cent_is_the_one_in_printed_tables(numerator, denominator, printed):
    assert f_above(printed, numerator, denominator) == pytest.approx(0.05, abs=0.00001)


def test_nothing_lies_below_an_f_of_0():
    assert f_above(0, 3, 4) == 1.0


def test_the_incomplete_beta_of_whole_numbers_by_hand():
    # I_x(2, 3) is the chance of two or more heads in four throws: 6 x^2 (1-x)^2 + 4 x^3 (1-x) + x^4
    assert regularised_beta(2, 3, 0.25) == pytest.approx(6 / 16 * 9 / 16 + 4 / 64 * 3 / 4 + 1 / 256)


@given(st.floats(0.5, 200), st.floats(0.5, 200), st.integers(0, 1 << 20))
def test_the_incomplete_beta_mirrors(a, b, parts):
    x = parts / (1 << 20)  # of which 1 - x is exact: near 0 the function is as steep as it is small
    assert regularised_beta(a, b, x) + regularised_beta(b, a, 1 - x) == pytest.approx(1, abs=1e-9)
