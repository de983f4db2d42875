import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.curves import curve, ratio
from benchhub.analysis.curves.curve import RunPoint
from benchhub.analysis.statistics import estimate
from benchhub.analysis.statistics.spread import summarise

EXPERIMENTS = 2000
NOISE = 0.02
REPEATS = 5


def test_the_mean_logarithm_by_hand():
    # logs 1, 2, 3: mean 2, s^2 = 1, variance of the mean 1 / 3
    mean = estimate.of_repeats([math.e, math.e**2, math.e**3])
    assert mean.value == pytest.approx(2)
    assert mean.variance == pytest.approx(1 / 3)
    assert mean.degrees == pytest.approx(2)
    half = 4.302653 / math.sqrt(3)
    assert mean.interval() == pytest.approx((math.exp(2 - half), math.exp(2 + half)), rel=1e-6)


def test_the_difference_of_equal_scatter_has_the_degrees_of_both():
    mean = estimate.of_repeats([math.e, math.e**2, math.e**3])
    difference = mean - mean
    assert (difference.value, difference.variance) == (0, pytest.approx(2 / 3))
    assert difference.degrees == pytest.approx(4)
    assert difference.p == pytest.approx(1)


def test_where_one_side_scatters_alone_only_its_degrees_count():
    # Welch: (a + b)^2 / (a^2 / 2 + b^2 / 4) with b = 0 is 2
    difference = estimate.Estimate(1.0, ((0.5, 2), (0.0, 4)))
    assert difference.degrees == pytest.approx(2)


def test_the_p_value_and_the_interval_agree_at_5_per_cent():
    at_the_edge = estimate.Estimate(4.302653 * 0.5, ((0.25, 2),))
    assert at_the_edge.p == pytest.approx(0.05, abs=1e-6)
    assert at_the_edge.interval()[0] == pytest.approx(1, abs=1e-6)


def test_a_mean_and_a_product_of_estimates_by_hand():
    first, second = estimate.Estimate(0.2, ((0.04, 4),)), estimate.Estimate(0.4, ((0.08, 4),))
    assert estimate.mean([first, second]).value == pytest.approx(0.3)
    assert estimate.mean([first, second]).variance == pytest.approx(0.03)  # (0.04 + 0.08) / 4
    assert estimate.total([first, second]).value == pytest.approx(0.6)
    assert estimate.total([first, second]).variance == pytest.approx(0.12)


def test_two_repeats_make_no_estimate():
    with pytest.raises(estimate.TooFewRepeatsError, match="2 repeats"):
        estimate.of_repeats([1.0, 2.0])


def test_holm_by_hand():
    # 0.01 x 4; 0.02 x 3; 0.03 x 2 = 0.06, no less than the one before; 0.5 x 1
    assert estimate.holm([0.02, 0.5, 0.01, 0.03]) == pytest.approx([0.06, 0.5, 0.04, 0.06])
    assert estimate.holm([0.9, 0.8]) == [1.0, 1.0]
    assert estimate.holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p_values):
    adjusted = estimate.holm(p_values)
    assert all(after >= before for before, after in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [adjusted[i] for i in order] == sorted(adjusted)


@pytest.fixture
def source():
    return random.Random(20261121)


def repeats(source, mean, noise=NOISE, n=REPEATS):
    return [mean * (1 + source.gauss(0, noise)) for _ in range(n)]


def test_the_interval_of_a_mean_covers_the_truth_in_95_of_100_experiments(source):
    spreads = [summarise(repeats(source, 1000)) for _ in range(EXPERIMENTS)]
    covered = sum(spread.low <= 1000 <= spread.high for spread in spreads)
    assert 0.93 <= covered / EXPERIMENTS <= 0.97


@pytest.mark.parametrize(("noise", "baseline_noise"), [(0.02, 0.02), (0.05, 0.01)])
def test_the_interval_of_a_ratio_covers_the_truth_in_95_of_100_experiments(source, noise, baseline_noise):
    covered = 0
    for _ in range(EXPERIMENTS):
        gain = ratio.throughput_ratio(repeats(source, 1120, noise), repeats(source, 1000, baseline_noise), "TPS", "TPS")
        covered += gain.lowest <= 1.12 <= gain.highest
    assert 0.93 <= covered / EXPERIMENTS <= 0.97


@pytest.mark.whole
def test_equal_systems_are_called_different_somewhere_on_a_curve_in_5_of_100_experiments(source):
    def curve_of(digest):
        points = [
            RunPoint(clients * 10 + i, clients, tps, "TPS", "p", digest)
            for clients in (1, 4, 16, 64)
            for i, tps in enumerate(repeats(source, 100 * clients))
        ]
        return curve.build(points)

    false_alarms = sum(
        any(level_ratio.is_distinguishable for level_ratio in ratio.by_level(curve_of("a"), curve_of("b")).values())
        for _ in range(EXPERIMENTS)
    )
    # Three standard errors: 3 x sqrt(0.05 x 0.95 / 2000) = 1.5%; Holm and Welch may call a little less.
    assert 0.03 <= false_alarms / EXPERIMENTS <= 0.065


def test_a_geometric_mean_over_levels_covers_the_truth_in_95_of_100_experiments(source):
    covered = 0
    for _ in range(EXPERIMENTS):
        levels = [
            estimate.of_repeats(repeats(source, 100 * gain)) - estimate.of_repeats(repeats(source, 100))
            for gain in (1.0, 1.1, 1.21)
        ]
        low, high = estimate.mean(levels).interval()
        covered += low <= 1.1 <= high
    assert 0.93 <= covered / EXPERIMENTS <= 0.97


def test_a_difference_of_5_per_cent_at_2_per_cent_noise_is_mostly_seen(source):
    differences = sum(
        ratio.throughput_ratio(repeats(source, 1050), repeats(source, 1000), "TPS", "TPS").is_distinguishable
        for _ in range(EXPERIMENTS)
    )
    # Noncentral t with 8 degrees: 0.05 / (0.02 sqrt(2 / 5)) = 3.95 standard errors against 2.31; about 0.94.
    assert 0.89 <= differences / EXPERIMENTS <= 0.97


def test_repeats_drawn_from_one_source_scatter_as_they_were_drawn(source):
    assert statistics.stdev(repeats(source, 1000, n=4000)) == pytest.approx(20, rel=0.05)


def test_repeats_however_far_apart_have_an_interval_of_numbers():
    low, high = estimate.of_repeats([1e-300, 1.0, 1e300]).interval()
    assert 0 < low < 1 < high < math.inf
