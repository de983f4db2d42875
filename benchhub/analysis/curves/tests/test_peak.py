import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.curves import curve, peak
from benchhub.analysis.curves.curve import RunPoint

SWEEP = {1: (300.0, 303.0, 297.0), 8: (1000.0, 1010.0, 990.0), 64: (600.0, 606.0, 594.0)}


def test_the_peak_is_the_geometric_mean_of_the_best_level():
    levels = {4: (100.0, 100.0, 112.0), 8: (104.0, 104.0, 104.0)}
    selected = peak.selected(levels)
    assert (selected.clients, selected.n) == (8, 3)  # 104; at 4 clients (100 x 100 x 112) ** (1/3) = 103.85
    assert selected.value == 104.0


def test_a_clear_peak_has_student_s_interval_of_its_level():
    selected = peak.selected(SWEEP)
    logs = [math.log(value) for value in SWEEP[8]]
    half = 4.302653 * math.sqrt(sum((log - sum(logs) / 3) ** 2 for log in logs) / 2 / 3)
    assert (selected.clients, selected.candidates) == (8, (8,))
    assert selected.value == pytest.approx(math.exp(sum(logs) / 3))
    assert selected.high / selected.value == pytest.approx(math.exp(half), rel=1e-6)
    assert selected.value / selected.low == pytest.approx(math.exp(half), rel=1e-6)


def test_every_repeat_counts_where_levels_have_different_numbers_of_them():
    selected = peak.selected({**SWEEP, 8: (1000.0, 1010.0, 990.0, 1100.0, 1100.0)})
    assert selected.n == 5
    assert selected.value == pytest.approx((1000 * 1010 * 990 * 1100 * 1100) ** (1 / 5))


def test_of_several_levels_that_could_be_the_peak_the_lower_end_allows_for_luck():
    levels = {4: (950.0, 1010.0, 980.0), 8: (1000.0, 960.0, 1015.0)}
    selected = peak.selected(levels)
    assert selected.candidates == (4, 8)
    assert selected.value / selected.low > selected.high / selected.value


def test_levels_that_noise_cannot_tell_apart_all_stay_candidates():
    levels = {4: (950.0, 1010.0, 980.0), 8: (1000.0, 960.0, 1015.0), 16: (700.0, 720.0, 690.0)}
    assert peak.candidates(levels) == (4, 8)


def test_without_repeats_no_level_is_ruled_out_and_there_is_no_peak():
    assert peak.candidates({1: (10.0,), 2: (900.0,)}) == (1, 2)
    assert peak.selected({1: (10.0, 11.0), 2: (900.0, 910.0)}) is None
    assert peak.selected({}) is None


def test_repeats_that_never_scatter_are_no_measurement():
    assert peak.selected({1: (10.0,) * 3, 2: (20.0,) * 3}) is None


def test_the_ratio_of_peaks_at_right_angles_by_hand():
    higher = peak.SelectedPeak(math.exp(1.0), math.exp(0.7), math.exp(1.4), 8, (), 3)
    baseline = peak.SelectedPeak(math.exp(0.0), math.exp(-0.3), math.exp(0.4), 8, (), 3)
    ratio = peak.ratio(higher, baseline)
    assert math.log(ratio.value) == pytest.approx(1.0)
    assert math.log(ratio.low) == pytest.approx(1 - math.hypot(0.3, 0.4))  # 0.5
    assert math.log(ratio.high) == pytest.approx(1 + math.hypot(0.4, 0.3))
    assert ratio.verdict == "more"


def test_a_curve_is_not_told_apart_from_itself():
    selected = peak.selected(SWEEP)
    assert peak.ratio(selected, selected).verdict == "not distinguishable"


@pytest.mark.parametrize(
    ("candidates", "edge"), [((8,), ""), ((64,), "highest"), ((1, 8), "lowest"), ((1, 8, 64), "both")]
)
def test_a_peak_at_the_edge_of_the_sweep_is_called_so(candidates, edge):
    assert peak.edge(SWEEP, candidates) == edge


def test_one_level_is_no_sweep():
    assert peak.edge({8: SWEEP[8]}, (8,)) == "only"


def test_a_ceiling_keeps_the_levels_whose_every_repeat_holds_it():
    latencies = {(4, 0): 1.0, (4, 1): 1.9, (8, 0): 1.8, (8, 1): 2.1, (16, 0): 1.0, (16, 1): None}
    points = [
        RunPoint(i, clients, 1000.0 + i, "TPS", "p", "s", latency_average_ms=latency_ms)
        for i, ((clients, _), latency_ms) in enumerate(latencies.items())
    ]
    assert peak.under_ceiling(curve.build(points), 2.0) == {4: (1000.0, 1001.0)}


@given(st.integers(3, 6), st.integers(1, 6), st.floats(0.1, 100), st.integers(0, 10**6))
def test_the_estimate_lies_in_its_interval_and_scales_with_the_unit(n, count, factor, seed):
    source = random.Random(seed)
    levels = {2**i: [source.uniform(900, 1100) for _ in range(n)] for i in range(count)}
    selected = peak.selected(levels)
    scaled = peak.selected({clients: [factor * value for value in values] for clients, values in levels.items()})
    assert selected.low <= selected.value <= selected.high
    assert scaled.value == pytest.approx(factor * selected.value)
    assert selected.clients == peak.best_level(levels)
    assert selected.clients in selected.candidates
