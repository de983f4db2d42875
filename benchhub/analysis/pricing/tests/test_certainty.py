import math
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchhub.analysis.pricing.certainty import interval, ratio, without_bounds
from benchhub.analysis.pricing.listed import Price
from benchhub.analysis.pricing.quote import Order, Throughput, UnlikeMetricsError, measured, quote
from benchhub.analysis.pricing.topology import Deployment, Machine, Node
from benchhub.analysis.statistics.spread import summarise
from benchhub.analysis.statistics.student import t_quantile


def priced(amount, *repeats, evidence="runs"):
    price = Price("item", Decimal(amount), "EUR", date(2026, 1, 1), "a list")
    throughput = measured(summarise(repeats), repeats, "TPS", f"{evidence} {repeats}")
    return quote(Order(Deployment((Node(Machine("m", 1, 1), prices=(price,)),))), throughput)


def test_below_three_repeats_the_interval_is_the_range_and_says_so():
    price_interval = interval(priced("1000", 800.0, 1250.0))
    assert (price_interval.low, price_interval.high) == (Decimal("0.8"), Decimal("1.25"))  # 1,000 / 1,250 and / 800
    assert (price_interval.kind, price_interval.n) == ("range of repeats", 2)


def test_from_three_repeats_the_interval_is_that_of_the_throughput():
    # Logs 6.9, 7.0, 7.1: mean 7, deviation 0.1, t for 2 degrees 4.302653: 7 -+ 4.302653 x 0.1 / sqrt(3) = 0.2484138
    price_interval = interval(priced("1000", *logs(6.9, 7.0, 7.1)))
    assert float(price_interval.low) == pytest.approx(1000 / math.exp(7.2484138), rel=1e-6)
    assert float(price_interval.high) == pytest.approx(1000 / math.exp(6.7515862), rel=1e-6)
    assert (price_interval.kind, price_interval.n) == ("95% interval of the geometric mean", 3)


def test_repeats_too_far_apart_for_an_interval_leave_the_range_of_prices():
    price_interval = interval(priced("1000", 100.0, 1000.0, 100_000.0))
    assert (price_interval.high, price_interval.kind, price_interval.n) == (Decimal(10), "range of repeats", 3)


def test_repeats_that_are_not_independent_leave_the_range_of_prices():
    repeats = (900.0, 1000.0, 1100.0)
    in_a_row = measured(replace(summarise(repeats), interval=None), repeats, "TPS", "runs 1 to 3")
    price_interval = interval(replace(priced("1100", *repeats), throughput=in_a_row))
    assert (price_interval.low, price_interval.kind, price_interval.n) == (Decimal(1), "range of repeats", 3)


def test_a_ratio_of_prices_without_bounds_tells_nothing_apart():
    price_ratio = ratio(priced("1000", 990.0, 1000.0, 1010.0), priced("3000", 990.0, 1000.0, 1011.0))
    assert price_ratio.is_distinguishable
    withheld = without_bounds(price_ratio)
    assert (withheld.value, withheld.kind, withheld.probability_cheaper) == (price_ratio.value, "withheld", None)
    assert not withheld.is_distinguishable
    assert "nothing says how sure this is: they were run one after the other" in withheld.sentence


def test_a_derived_throughput_has_the_range_that_it_was_given():
    derived = Throughput(Decimal(1000), Decimal(800), Decimal(1250), "TPS", "derived")
    price_interval = interval(replace(priced("1000", 1000.0), throughput=derived))
    assert (price_interval.low, price_interval.high, price_interval.kind, price_interval.n) == (
        Decimal("0.8"),
        Decimal("1.25"),
        "range of repeats",
        0,
    )


def test_few_repeats_give_a_range_by_the_extremes_and_no_probability():
    price_ratio = ratio(priced("1200", 1000.0, 1010.0), priced("1000", 990.0, 1000.0))
    assert price_ratio.value == pytest.approx(1.2 * (990 * 1000 / 1000 / 1010) ** 0.5)
    assert price_ratio.low == pytest.approx(1200 * 990 / (1000 * 1010))
    assert price_ratio.high == pytest.approx(1200 * 1000 / (1000 * 1000))
    assert (price_ratio.kind, price_ratio.probability_cheaper) == ("range of repeats", None)
    assert price_ratio.sentence.endswith("2 and 2 repeats): not tested, as that takes 3 repeats of each.")
    assert "distinguishable" not in price_ratio.sentence


def test_ranges_of_few_repeats_that_lie_apart_tell_nothing_apart():
    # Of the 6 orders of two repeats of one and two of another, 2 have all of one before all of the other.
    price_ratio = ratio(priced("1000", 2000.0, 2010.0), priced("1000", 1000.0, 1010.0))
    assert price_ratio.high < 1
    assert (price_ratio.is_distinguishable, price_ratio.verdict) == (False, "not tested")


def test_a_price_twelve_times_as_high_is_not_said_to_be_not_distinguishable():
    price_ratio = ratio(priced("1000", 12_000.0, 12_100.0), priced("1000", 1000.0, 1010.0))
    assert price_ratio.verdict == "not tested"
    assert "distinguishable" not in price_ratio.sentence


def test_bounds_that_were_derived_tell_apart_what_lies_beyond_them():
    bounded = [Throughput(Decimal(n), Decimal(n - 10), Decimal(n + 10), "TPS", "derived") for n in (1000, 2000)]
    first, second = (replace(priced("1000", 1000.0), throughput=throughput) for throughput in bounded)
    assert ratio(first, second).is_distinguishable


def test_three_repeats_on_one_side_only_give_no_probability():
    assert ratio(priced("1", 1.0, 2.0, 3.0), priced("1", 1.0, 2.0)).probability_cheaper is None


def test_single_runs_tell_nothing_apart():
    price_ratio = ratio(priced("1200", 1000.0), priced("1000", 1100.0))
    assert price_ratio.value == pytest.approx(1.32)
    assert not price_ratio.is_distinguishable
    assert price_ratio.sentence == "The price is 1.32x the other: not tested, as that takes 3 repeats of each."


def logs(*values):
    return [math.exp(value) for value in values]


def test_welch_on_the_logarithms_by_hand():
    # Logs 7.0, 7.1, 7.2 and 6.9, 7.0, 7.1: means 7.1 and 7.0, variances 0.01, error sqrt(2 x 0.01 / 3) = 0.0816497;
    # 4 degrees, t 2.776445: half 0.226696. Equal totals: centre ln(1) - 7.1 + 7.0 = -0.1.
    price_ratio = ratio(priced("1000", *logs(7.0, 7.1, 7.2)), priced("1000", *logs(6.9, 7.0, 7.1)))
    assert price_ratio.kind == "95% interval of the ratio"
    assert price_ratio.low == pytest.approx(math.exp(-0.1 - 0.226696), rel=1e-5)
    assert price_ratio.high == pytest.approx(math.exp(-0.1 + 0.226696), rel=1e-5)
    # t = 0.1 / 0.0816497 = 1.224745; for 4 degrees, with tan(a) = t / 2: sin(a) = 0.522233, cos(a)^2 = 0.727273 and
    # P(T < t) = (1 + 0.522233 x (1 + 0.727273 / 2)) / 2 = 0.856068
    assert price_ratio.probability_cheaper == pytest.approx(0.856068, abs=1e-6)
    assert not price_ratio.is_distinguishable
    assert "not distinguishable; the probability that it is the cheaper is 85.6%" in price_ratio.sentence


def test_unequal_spreads_have_fewer_degrees():
    # Variances 0.01 and 0.0001: (0.0101 / 3)^2 / ((0.01 / 3)^2 / 2 + (0.0001 / 3)^2 / 2) = 2.04 degrees
    price_ratio = ratio(priced("1000", *logs(7.0, 7.1, 7.2)), priced("1000", *logs(6.99, 7.0, 7.01)))
    half = t_quantile(2.04) * math.sqrt(0.0101 / 3)
    assert math.log(price_ratio.high / price_ratio.low) == pytest.approx(2 * half, rel=1e-4)


def test_intervals_may_overlap_where_the_ratio_still_tells_the_prices_apart():
    # Means 1,000 and 1,080, deviation 40: intervals of -+ 2.776 x 40 / sqrt(5) = 49.7 overlap between 1,030 and 1,050,
    # but that of the difference is about -+ 2.306 x sqrt(2 x 40^2 / 5) = 58.3, and the difference is 80.
    first = priced("1000", 960.0, 960.0, 1000.0, 1040.0, 1040.0)
    second = priced("1000", 1040.0, 1040.0, 1080.0, 1120.0, 1120.0)
    intervals = interval(first), interval(second)
    assert intervals[0].low < intervals[1].high  # the dearer one's low end lies below the cheaper one's high end
    price_ratio = ratio(first, second)
    assert price_ratio.is_distinguishable
    assert price_ratio.low > 1
    assert price_ratio.probability_cheaper < 0.025


def test_two_licences_over_the_same_runs_share_their_doubt():
    price_ratio = ratio(priced("1200", 900.0, 1000.0, 1100.0), priced("1000", 900.0, 1000.0, 1100.0))
    assert (price_ratio.low, price_ratio.value, price_ratio.high) == (1.2, 1.2, 1.2)
    assert price_ratio.kind == "same runs on both sides"
    assert price_ratio.is_distinguishable
    assert "spread does not matter" in price_ratio.sentence


def test_equal_prices_over_the_same_runs_are_not_distinguishable():
    assert not ratio(priced("1000", 1000.0), priced("1000", 1000.0)).is_distinguishable


def test_equal_repeats_of_other_runs_are_not_the_same_runs():
    first, second = priced("1000", 900.0, 1000.0, 1100.0), priced("1000", 900.0, 1000.0, 1100.0, evidence="others")
    price_ratio = ratio(first, second)
    assert price_ratio.low < 1 < price_ratio.high
    assert price_ratio.probability_cheaper == 0.5


def test_repeats_that_do_not_differ_at_all_are_not_tested_as_their_throughputs_are_not():
    price_ratio = ratio(priced("1000", 1000.0, 1000.0, 1000.0), priced("1000", 500.0, 500.0, 500.0))
    assert (price_ratio.value, price_ratio.verdict, price_ratio.probability_cheaper) == (0.5, "not tested", None)
    assert "not tested, as equal repeats say nothing about scatter" in price_ratio.sentence


def test_unlike_prices_have_no_ratio():
    first = priced("1000", 1000.0)
    with pytest.raises(UnlikeMetricsError):
        ratio(first, replace(first, throughput=replace(first.throughput, unit="NOPM")))


repeats = st.lists(st.floats(1, 1e6), min_size=3, max_size=6)
amounts = st.integers(1, 10**6)


@given(amounts, repeats, amounts, repeats)
def test_swapping_the_sides_inverts_the_ratio_and_its_probability(amount, ours, other_amount, theirs):
    first, second = priced(amount, *ours), priced(other_amount, *theirs, evidence="others")
    there, back = ratio(first, second), ratio(second, first)
    assume(there.probability_cheaper is not None)
    assert there.value * back.value == pytest.approx(1)
    assert there.low * back.high == pytest.approx(1)
    assert there.probability_cheaper + back.probability_cheaper == pytest.approx(1)
    if 1 not in (pytest.approx(there.low), pytest.approx(there.high)):
        assert there.is_distinguishable == back.is_distinguishable


@given(amounts, repeats, repeats)
def test_a_probability_over_97_5_per_cent_is_where_the_interval_leaves_1_out(amount, ours, theirs):
    price_ratio = ratio(priced(amount, *ours), priced(amount, *theirs, evidence="others"))
    assume(price_ratio.probability_cheaper is not None)
    sure = max(price_ratio.probability_cheaper, 1 - price_ratio.probability_cheaper)
    if abs(sure - 0.975) > 1e-9:
        assert (sure > 0.975) == price_ratio.is_distinguishable
