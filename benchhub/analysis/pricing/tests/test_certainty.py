import math
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.pricing.certainty import interval, ratio, without_bounds
from benchhub.analysis.pricing.listed import Price
from benchhub.analysis.pricing.quote import Order, Throughput, UnlikeMetricsError, measured, quote
from benchhub.analysis.pricing.topology import Deployment, Machine, Node
from benchhub.analysis.statistics.spread import summarise


def priced(amount, *repeats, evidence="runs"):
    price = Price("item", Decimal(amount), "EUR", date(2026, 1, 1), "a list")
    throughput = measured(summarise(repeats), repeats, "TPS", f"{evidence} {repeats}")
    return quote(Order(Deployment((Node(Machine("m", 1, 1), prices=(price,)),))), throughput)


def test_below_three_repeats_the_interval_is_the_range_and_says_so():
    found = interval(priced("1000", 800.0, 1250.0))
    assert (found.low, found.high) == (Decimal("0.8"), Decimal("1.25"))  # 1,000 / 1,250 and / 800
    assert (found.kind, found.n) == ("range of repeats", 2)


def test_from_three_repeats_the_interval_is_that_of_the_mean_throughput():
    # Mean 1,000, deviation 100, t for 2 degrees 4.302653: 1,000 -+ 4.302653 x 100 / sqrt(3) = 751.586 to 1,248.414
    found = interval(priced("1000", 900.0, 1000.0, 1100.0))
    assert float(found.low) == pytest.approx(1000 / 1248.414, rel=1e-6)
    assert float(found.high) == pytest.approx(1000 / 751.586, rel=1e-6)
    assert (found.kind, found.n) == ("95% interval of the mean", 3)


def test_repeats_too_far_apart_for_an_interval_leave_the_range_of_prices():
    found = interval(priced("1000", 100.0, 1000.0, 3000.0))
    assert (found.high, found.kind, found.n) == (Decimal(10), "range of repeats", 3)


def test_repeats_that_are_not_independent_leave_the_range_of_prices():
    repeats = (900.0, 1000.0, 1100.0)
    in_a_row = measured(replace(summarise(repeats), interval=None), repeats, "TPS", "runs 1 to 3")
    found = interval(replace(priced("1100", *repeats), throughput=in_a_row))
    assert (found.low, found.kind, found.n) == (Decimal(1), "range of repeats", 3)


def test_a_ratio_of_prices_without_bounds_tells_nothing_apart():
    sure = ratio(priced("1000", 990.0, 1000.0, 1010.0), priced("3000", 990.0, 1000.0, 1011.0))
    assert sure.is_distinguishable
    found = without_bounds(sure)
    assert (found.value, found.kind, found.probability_cheaper) == (sure.value, "withheld", None)
    assert not found.is_distinguishable
    assert "nothing says how sure this is: they were run one after the other" in found.sentence


def test_a_derived_throughput_has_the_range_that_it_was_given():
    derived = Throughput(Decimal(1000), Decimal(800), Decimal(1250), "TPS", "derived")
    found = interval(replace(priced("1000", 1000.0), throughput=derived))
    assert (found.low, found.high, found.kind, found.n) == (Decimal("0.8"), Decimal("1.25"), "range of repeats", 0)


def test_few_repeats_give_a_range_by_the_extremes_and_no_probability():
    found = ratio(priced("1200", 1000.0, 1010.0), priced("1000", 990.0, 1000.0))
    assert found.value == pytest.approx(1200 * 995 / (1000 * 1005))
    assert found.low == pytest.approx(1200 * 990 / (1000 * 1010))
    assert found.high == pytest.approx(1200 * 1000 / (1000 * 1000))
    assert (found.kind, found.probability_cheaper) == ("range of repeats", None)
    assert "not distinguishable, by few repeats and without an interval" in found.sentence


def test_ranges_of_few_repeats_that_lie_apart_tell_nothing_apart():
    # Of the 6 orders of two repeats of one and two of another, 2 have all of one before all of the other.
    found = ratio(priced("1000", 2000.0, 2010.0), priced("1000", 1000.0, 1010.0))
    assert found.high < 1
    assert not found.is_distinguishable


def test_bounds_that_were_derived_tell_apart_what_lies_beyond_them():
    bounded = [Throughput(Decimal(n), Decimal(n - 10), Decimal(n + 10), "TPS", "derived") for n in (1000, 2000)]
    one, other = (replace(priced("1000", 1000.0), throughput=of) for of in bounded)
    assert ratio(one, other).is_distinguishable


def test_three_repeats_on_one_side_only_give_no_probability():
    assert ratio(priced("1", 1.0, 2.0, 3.0), priced("1", 1.0, 2.0)).probability_cheaper is None


def test_single_runs_tell_nothing_apart():
    found = ratio(priced("1200", 1000.0), priced("1000", 1100.0))
    assert found.value == pytest.approx(1.32)
    assert not found.is_distinguishable
    assert "nothing says how sure this is" in found.sentence


def logs(*values):
    return [math.exp(value) for value in values]


def test_welch_on_the_logarithms_by_hand():
    # Logs 7.0, 7.1, 7.2 and 6.9, 7.0, 7.1: means 7.1 and 7.0, variances 0.01, error sqrt(2 x 0.01 / 3) = 0.0816497;
    # 4 degrees, t 2.776445: half 0.226696. Equal totals: centre ln(1) - 7.1 + 7.0 = -0.1.
    found = ratio(priced("1000", *logs(7.0, 7.1, 7.2)), priced("1000", *logs(6.9, 7.0, 7.1)))
    assert found.kind == "95% interval of the ratio"
    assert found.low == pytest.approx(math.exp(-0.1 - 0.226696), rel=1e-5)
    assert found.high == pytest.approx(math.exp(-0.1 + 0.226696), rel=1e-5)
    # t = 0.1 / 0.0816497 = 1.224745; for 4 degrees, with tan(a) = t / 2: sin(a) = 0.522233, cos(a)^2 = 0.727273 and
    # P(T < t) = (1 + 0.522233 x (1 + 0.727273 / 2)) / 2 = 0.856068
    assert found.probability_cheaper == pytest.approx(0.856068, abs=1e-6)
    assert not found.is_distinguishable
    assert "not distinguishable; the probability that it is the cheaper is 85.6%" in found.sentence


def test_unequal_spreads_have_fewer_degrees_rounded_down():
    # Variances 0.01 and 0.0001: (0.0101 / 3)^2 / ((0.01 / 3)^2 / 2 + (0.0001 / 3)^2 / 2) = 2.04, so 2; t 4.302653
    found = ratio(priced("1000", *logs(7.0, 7.1, 7.2)), priced("1000", *logs(6.99, 7.0, 7.01)))
    half = 4.302653 * math.sqrt(0.0101 / 3)
    assert math.log(found.high / found.low) == pytest.approx(2 * half, rel=1e-5)


def test_intervals_may_overlap_where_the_ratio_still_tells_the_prices_apart():
    # Means 1,000 and 1,080, deviation 40: intervals of -+ 2.776 x 40 / sqrt(5) = 49.7 overlap between 1,030 and 1,050,
    # but that of the difference is about -+ 2.306 x sqrt(2 x 40^2 / 5) = 58.3, and the difference is 80.
    one = priced("1000", 960.0, 960.0, 1000.0, 1040.0, 1040.0)
    other = priced("1000", 1040.0, 1040.0, 1080.0, 1120.0, 1120.0)
    intervals = interval(one), interval(other)
    assert intervals[0].low < intervals[1].high  # the dearer one's low end lies below the cheaper one's high end
    found = ratio(one, other)
    assert found.is_distinguishable
    assert found.low > 1
    assert found.probability_cheaper < 0.025


def test_two_licences_over_the_same_runs_share_their_doubt():
    found = ratio(priced("1200", 900.0, 1000.0, 1100.0), priced("1000", 900.0, 1000.0, 1100.0))
    assert (found.low, found.value, found.high) == (1.2, 1.2, 1.2)
    assert found.kind == "same runs on both sides"
    assert found.is_distinguishable
    assert "spread does not matter" in found.sentence


def test_equal_prices_over_the_same_runs_are_not_distinguishable():
    assert not ratio(priced("1000", 1000.0), priced("1000", 1000.0)).is_distinguishable


def test_equal_repeats_of_other_runs_are_not_the_same_runs():
    one, other = priced("1000", 900.0, 1000.0, 1100.0), priced("1000", 900.0, 1000.0, 1100.0, evidence="others")
    found = ratio(one, other)
    assert found.low < 1 < found.high
    assert found.probability_cheaper == 0.5


def test_repeats_that_do_not_differ_at_all_leave_no_doubt():
    found = ratio(priced("1000", 1000.0, 1000.0, 1000.0), priced("1000", 500.0, 500.0, 500.0))
    assert found.low == found.high == pytest.approx(0.5)
    assert found.probability_cheaper == 1
    assert "over 99.9%" in found.sentence


def test_unlike_prices_have_no_ratio():
    one = priced("1000", 1000.0)
    with pytest.raises(UnlikeMetricsError):
        ratio(one, replace(one, throughput=replace(one.throughput, unit="NOPM")))


repeats = st.lists(st.floats(1, 1e6), min_size=3, max_size=6)
amounts = st.integers(1, 10**6)


@given(amounts, repeats, amounts, repeats)
def test_swapping_the_sides_inverts_the_ratio_and_its_probability(amount, ours, other_amount, theirs):
    one, other = priced(amount, *ours), priced(other_amount, *theirs, evidence="others")
    there, back = ratio(one, other), ratio(other, one)
    assert there.value * back.value == pytest.approx(1)
    assert there.low * back.high == pytest.approx(1)
    assert there.probability_cheaper + back.probability_cheaper == pytest.approx(1)
    if 1 not in (pytest.approx(there.low), pytest.approx(there.high)):
        assert there.is_distinguishable == back.is_distinguishable


@given(amounts, repeats, repeats)
def test_a_probability_over_97_5_per_cent_is_where_the_interval_leaves_1_out(amount, ours, theirs):
    found = ratio(priced(amount, *ours), priced(amount, *theirs, evidence="others"))
    sure = max(found.probability_cheaper, 1 - found.probability_cheaper)
    if abs(sure - 0.975) > 1e-9:
        assert (sure > 0.975) == found.is_distinguishable
