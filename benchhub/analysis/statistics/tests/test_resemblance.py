import math

import numpy as np
import pytest

from benchhub.analysis.curves import curve
from benchhub.analysis.curves.curve import RunPoint
from benchhub.analysis.statistics import resemblance
from benchhub.analysis.statistics.drift import Start
from benchhub.analysis.statistics.spread import RANGE

LEVELS = (1, 2, 4, 8)


def blocks(*signs_by_block, drift=0.0):
    """Runs a minute apart; each block gives every level's logarithm, in per cent, beside that of the level."""
    logs = [(clients, log) for signs in signs_by_block for clients, log in zip(LEVELS, signs, strict=True)]
    return [
        Start(60.0 * n, 60.0, clients, 1000.0 * clients * math.exp(log / 100 - drift * n))
        for n, (clients, log) in enumerate(logs)
    ]


def build(starts):
    return curve.build(
        RunPoint(n, start.clients, start.throughput, "TPS", "p", "s", start=start) for n, start in enumerate(starts)
    )


# Per level the blocks are 1, -2, 1: no mean and no slope. Squares: 4 x 1 + 4 x 4 + 4 x 1 = 24.
ALIKE = blocks([1] * 4, [-2] * 4, [1] * 4)
IN_TURN = blocks([1, -1, 1, -1], [-2, 2, -2, 2], [1, -1, 1, -1])


def test_blocks_that_are_fast_or_slow_as_a_whole_resemble_each_other():
    """Neighbours: 3 x 1, -2, 3 x 4, -2, 3 x 1 = 14 of 24."""
    assert resemblance.autocorrelation(ALIKE).value == pytest.approx(14 / 24)
    assert resemblance.resembles(ALIKE)


def test_what_chance_gives_is_that_of_independent_runs_in_the_same_order():
    """Moments of r'Ar / r'r with full matrices, then of a hundred thousand draws: levels in an order of their own."""
    order = [1, 2, 2, 4, 1, 4, 2, 1, 4, 4, 1, 2, 2, 4, 1]
    starts = [Start(60.0 * n, 60.0, clients, 100.0 + n % 7) for n, clients in enumerate(order)]
    design = np.column_stack([[clients == level for clients in order] for level in (1, 2, 4)] + [np.arange(15.0)])
    left_out = np.eye(15) - design @ np.linalg.pinv(design)
    rest = np.random.default_rng(1).standard_normal((100_000, 15)) @ left_out
    drawn = (rest[:, 1:] * rest[:, :-1]).sum(axis=1) / (rest**2).sum(axis=1)
    measured = resemblance.autocorrelation(starts)
    beside = left_out @ ((np.eye(15, k=1) + np.eye(15, k=-1)) / 2)
    assert measured.chance_mean == pytest.approx(np.trace(beside) / 11)
    variance = 2 / (11 * 13) * (np.trace(beside @ beside) - np.trace(beside) ** 2 / 11)
    assert measured.chance_sd == pytest.approx(math.sqrt(variance))
    assert measured.chance_mean == pytest.approx(drawn.mean(), abs=0.005)
    assert measured.chance_sd == pytest.approx(drawn.std(), abs=0.005)
    assert 0.02 < np.mean(drawn > measured.chance_mean + resemblance.CHANCE_QUANTILE * measured.chance_sd) < 0.05


def test_runs_that_alternate_do_not_resemble_each_other():
    """Neighbours: 3 x -1, 2, 3 x -4, 2, 3 x -1 = -14 of 24."""
    assert resemblance.autocorrelation(IN_TURN).value == pytest.approx(-14 / 24)
    assert not resemblance.resembles(IN_TURN)


def test_a_steady_drift_is_no_resemblance():
    drifting = blocks([1, -1, 1, -1], [-2, 2, -2, 2], [1, -1, 1, -1], drift=0.01)
    assert resemblance.autocorrelation(drifting).value == pytest.approx(-14 / 24)
    assert resemblance.autocorrelation(blocks([0] * 4, [0] * 4, [0] * 4, drift=0.01)) is None


def test_the_order_is_that_of_the_clock_not_of_the_list():
    assert resemblance.autocorrelation(ALIKE[::-1]) == resemblance.autocorrelation(ALIKE)


def test_too_few_runs_or_repeats_and_no_order_tell_nothing():
    assert resemblance.autocorrelation(ALIKE[:8]) is None
    assert resemblance.autocorrelation(ALIKE[:11]) is None
    assert resemblance.autocorrelation([]) is None
    same_day = [Start(0.0, 60.0, start.clients, start.throughput) for start in ALIKE]
    side_by_side = [Start(start.at_s / 600, 60.0, start.clients, start.throughput) for start in ALIKE]
    assert not resemblance.resembles(same_day)
    assert not resemblance.resembles(side_by_side)


def test_a_curve_whose_runs_resemble_each_other_shows_ranges_and_says_why():
    built = build(ALIKE)
    assert built.withheld.startswith("each run resembles the one before it")
    assert {level.throughput.kind for level in built.levels} == {RANGE}
    assert not built.is_in_a_row
    quiet = build(IN_TURN)
    assert quiet.withheld == ""
    assert all(level.throughput.interval for level in quiet.levels)


def test_a_stall_is_named_with_how_far_below_its_repeats_it_lies():
    """100, 101, 55: 45% below the median of 100. Usual distances are 1%, so five times that is far less."""
    levels = [[100, 101, 55], [200, 202, 198], [400, 404, 396], [800, 808, 792]]
    assert resemblance.stalls(levels) == [pytest.approx(0.45)]
    assert resemblance.stalls_text(levels).startswith("1 of 12 runs is 45% below its repeats: a stall")


def test_two_stalls_of_one_level_do_not_hide_each_other():
    levels = [[100, 101, 99, 55, 40], [200, 202, 198, 199, 201]]
    assert resemblance.stalls(levels) == [pytest.approx(1 - 40 / 99), pytest.approx(1 - 55 / 99)]
    assert resemblance.stalls_text(levels).startswith("2 of 10 runs are 44% to 60% below their repeats: stalls")


def test_a_fast_run_a_small_loss_and_honest_noise_are_no_stalls():
    assert resemblance.stalls_text([[100, 101, 190], [200, 202, 198]]) == ""
    assert resemblance.stalls_text([[100, 101, 85], [200, 202, 198]]) == ""
    assert resemblance.stalls_text([[100, 140, 65], [200, 150, 290]]) == ""
    assert resemblance.stalls_text([[100, 50], [200, 100]]) == ""
    assert resemblance.stalls_text([[100, 100, 100]]) == ""


def test_a_curve_with_a_stall_has_no_intervals_although_each_level_has_too_few_repeats_to_tell():
    runs = [Start(60.0 * n, 60.0, LEVELS[n % 4], 1000.0 + n % 3) for n in range(12)]
    runs[5] = Start(300.0, 60.0, 2, 550.0)
    built = build(runs)
    assert built.withheld.startswith("1 of 12 runs is 45% below its repeats")
    assert all(level.throughput.interval is None for level in built.levels)


@pytest.mark.parametrize(("runs", "share"), [(1, "95%"), (3, "63%"), (24, "12%"), (59, "5%"), (299, "1%")])
def test_what_intervals_assume_is_said_with_the_stalls_that_so_many_runs_would_not_show(runs, share):
    """By hand: of 59 runs none stalls with 0.95^59 = 4.8% where 5% do."""
    assert f"a stall in {share} of runs" in resemblance.assumption_text(runs)


@pytest.mark.parametrize(
    ("runs", "often"), [(11, "always"), (12, "in up to 75% of curves"), (24, "in up to 45%"), (40, "in up to 10%")]
)
def test_how_often_resemblance_passes_unseen_is_said_by_the_number_of_runs(runs, often):
    text = resemblance.assumption_text(runs)
    assert f"a correlation of 0.9 between neighbours {often}" in text
    assert "hold the truth in 65% in place of 95%." in text
