import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.curves import curve, peak
from benchhub.analysis.curves.curve import RunPoint

SWEEP = {1: (300.0, 303.0, 297.0), 8: (1000.0, 1010.0, 990.0), 64: (600.0, 606.0, 594.0)}


def test_each_repeat_is_counted_where_the_others_choose():
    levels = {4: (100.0, 100.0, 112.0), 8: (104.0, 104.0, 104.0)}
    # Without the third, 8 is best; without the first or the second, 4 is (100 x 112 > 104 x 104).
    selected = peak.selected(levels)
    assert selected.selected_clients == (4, 4, 8)
    assert selected.value == pytest.approx((100 * 100 * 104) ** (1 / 3))


def test_a_repeat_that_lies_high_does_not_choose_itself():
    selected = peak.selected({4: (100.0, 100.0, 150.0), 8: (110.0, 109.0, 111.0)})
    assert selected.selected_clients[2] == 8
    assert selected.value < 150


def test_a_clear_peak_is_the_mean_of_its_level_with_student_s_interval():
    selected = peak.selected(SWEEP)
    logs = [math.log(value) for value in SWEEP[8]]
    half = 4.302653 * math.sqrt(sum((log - sum(logs) / 3) ** 2 for log in logs) / 2 / 3)
    assert (selected.selected_clients, selected.candidates) == ((8, 8, 8), (8,))
    assert selected.value == pytest.approx(math.exp(sum(logs) / 3))
    assert selected.high / selected.value == pytest.approx(math.exp(half), rel=1e-6)
    assert selected.value / selected.low == pytest.approx(math.exp(half), rel=1e-6)


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
    higher = peak.SelectedPeak(math.exp(1.0), math.exp(0.7), math.exp(1.4), (), (), 3)
    baseline = peak.SelectedPeak(math.exp(0.0), math.exp(-0.3), math.exp(0.4), (), (), 3)
    ratio = peak.ratio(higher, baseline)
    assert math.log(ratio.value) == pytest.approx(1.0)
    assert math.log(ratio.low) == pytest.approx(1 - math.hypot(0.3, 0.4))  # 0.5
    assert math.log(ratio.high) == pytest.approx(1 + math.hypot(0.4, 0.3))
    assert ratio.tells_apart


def test_a_curve_is_not_told_apart_from_itself():
    selected = peak.selected(SWEEP)
    assert not peak.ratio(selected, selected).tells_apart


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


def test_the_estimate_is_not_biased_upward_where_picking_the_best_is_by_2_per_cent():
    source = random.Random(20261121)
    values, picked = [], []
    for _ in range(400):
        levels = {clients: [1000 * (1 + source.gauss(0, 0.03)) for _ in range(5)] for clients in range(1, 9)}
        values.append(peak.selected(levels).value)
        picked.append(max(sum(repeats) / 5 for repeats in levels.values()))
    assert sum(values) / 400 == pytest.approx(1000, rel=0.003)
    assert sum(picked) / 400 > 1015


@given(st.integers(3, 6), st.integers(1, 6), st.floats(0.1, 100), st.integers(0, 10**6))
def test_the_estimate_lies_in_its_interval_and_scales_with_the_unit(n, count, factor, seed):
    source = random.Random(seed)
    levels = {2**i: [source.uniform(900, 1100) for _ in range(n)] for i in range(count)}
    selected = peak.selected(levels)
    scaled = peak.selected({clients: [factor * value for value in values] for clients, values in levels.items()})
    assert selected.low <= selected.value <= selected.high
    assert scaled.value == pytest.approx(factor * selected.value)
    assert set(selected.selected_clients) <= set(levels)
