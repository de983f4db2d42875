"""From results to the next level: by hand where that can be done, then on curves whose best level is known."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchhub.analysis.search.advice import Goal, advise, rungs, scores
from benchhub.analysis.search.belief import Trial
from benchhub.analysis.search.testing import GOAL, LEVELS, follow, scalability
from conftest import WHOLE

SEEDS = range(1, 7)


def two_humps(clients):
    return 4000 * math.exp(-2 * math.log(clients / 10) ** 2) + 5000 * math.exp(-2 * math.log(clients / 80) ** 2)


def falls_off(clients):
    return 1000 * clients / (clients + 20) * (0.6 if clients > 70 else 1)


def humps_over_clients(clients):
    """As wide at 140 clients as at 40, where they are a third as wide by ratio."""
    first, second = (math.exp(-0.5 * ((clients - middle) / 12) ** 2) for middle in (40, 140))
    return 500 * clients / (clients + 10) + 1000 * first + 1150 * second


@pytest.mark.parametrize(
    "curve",
    [
        two_humps,
        *(pytest.param(curve, marks=pytest.mark.whole) for curve in (scalability, falls_off, humps_over_clients)),
    ],
)
def test_the_level_found_has_99_percent_of_the_maximum_after_15_percent_of_the_grid(curve):
    """Twelve of 80 levels cannot always show a narrow hump; where one was missed, nothing is called known."""
    best = max(map(curve, LEVELS))
    searches = [follow(curve, noise=0.005, seed=seed) for seed in SEEDS]
    good = [(advice, trials) for advice, trials in searches if curve(advice.best) >= 0.99 * best]
    assert len(good) >= 4
    for advice, trials in good:
        assert len(trials) <= 0.15 * len(LEVELS)
        assert advice.low <= 1.02 * curve(advice.best) and advice.high >= 0.98 * curve(advice.best)
    assert not any(advice.stopped == "known" for advice, trials in searches if (advice, trials) not in good)


def test_a_flat_curve_is_known_to_be_flat_and_any_level_is_good_enough():
    advice, _ = follow(lambda _: 5000, noise=0.002)
    assert advice.stopped == "known" and advice.probability >= 0.95
    assert advice.low < 5000 < advice.high and advice.high / advice.low < 1.02


@pytest.mark.whole
def test_noise_is_told_from_shape_and_makes_the_budget_larger():
    # So precise that no level is ever certain: the budgets are what ends them.
    goal = Goal(runs=12, noisy_runs=16, precision=0.001, confidence=0.9999999)
    seeds = range(3 if WHOLE else 1)
    noisy = [follow(scalability, goal, noise=0.1, seed=seed) for seed in seeds]
    quiet = [follow(scalability, goal, noise=0.003, seed=seed) for seed in seeds]
    # Twelve runs cannot always tell; most often they do.
    assert sum(len(trials) == 16 and advice.noise > 0.015 for advice, trials in noisy) >= len(seeds) * 2 / 3
    assert all(len(trials) == 12 and advice.noise < 0.015 for advice, trials in quiet)
    assert {advice.stopped for advice, _ in noisy + quiet} == {"spent"}


def test_the_highest_level_is_found_where_the_curve_only_rises():
    advice, _ = follow(lambda clients: 100 * clients, noise=0.005)
    assert advice.best == 160


def test_the_same_results_give_the_same_step_in_whatever_unit_they_are():
    trials = [Trial(rung, scalability(rung)) for rung in rungs(LEVELS)]
    once, again = advise(LEVELS, trials, GOAL), advise(LEVELS, trials, GOAL)
    assert once == again
    in_thousands = advise(LEVELS, [Trial(n, tps / 1000) for n, tps in trials], GOAL)
    assert in_thousands.clients == once.clients and in_thousands.probability == once.probability
    assert in_thousands.estimate == pytest.approx(once.estimate / 1000)


def test_a_search_begins_spread_by_ratio_from_above():
    # 2 x (160 / 2)^0.9 = 103.2, ^0.6 = 27.7, ^0.3 = 7.4
    assert rungs(LEVELS) == [104, 28, 8]
    assert rungs([1, 2, 3]) == [3, 2, 1]
    assert rungs([7]) == [7]
    first = advise(LEVELS, [], GOAL)
    assert (first.clients, first.stopped, first.runs_left, first.best) == (104, "", 12, None)


def test_under_a_ceiling_the_choice_follows_from_littles_law():
    # 10, 20, 40 clients at 1000, 1600, 2000 TPS wait 10, 12.5 and 20 ms; 15 ms allow the second.
    clients, curves = np.array([10.0, 20, 40]), np.log([[1000.0, 1600, 2000]])
    good = scores(curves, clients, Goal(9, 9, ceiling_ms=15)).good
    assert good.tolist() == [[0, 1, 0, 0]]
    assert scores(curves, clients, Goal(9, 9)).good.tolist() == [[0, 0, 1, 0]]
    # Nothing is below 9 ms: the last column, none, is right, and no level is.
    assert scores(curves, clients, Goal(9, 9, ceiling_ms=9)).good.tolist() == [[0, 0, 0, 1]]


def test_the_precision_says_what_is_good_enough():
    curves = np.log([[990.5, 1000, 989.0]])
    clients = np.array([1.0, 2, 3])
    assert scores(curves, clients, Goal(9, 9, precision=0.01)).good.tolist() == [[1, 1, 0, 0]]
    assert scores(curves, clients, Goal(9, 9, precision=0.02)).good.tolist() == [[1, 1, 1, 0]]


def test_the_best_load_under_a_ceiling_is_found():
    # 1000 TPS per client up to 40: 40 clients wait 1 ms; at 60 clients 40,000 TPS wait 1.5 ms.
    advice, _ = follow(lambda n: 1000 * min(n, 40), Goal(16, 24, ceiling_ms=1.02), noise=0.002)
    assert 38 <= advice.best <= 42
    advice, _ = follow(lambda n: 1000 * min(n, 40), Goal(12, 24, ceiling_ms=0.5), noise=0.002)
    assert advice.best is None and advice.probability > 0.9


def test_a_level_that_was_refused_is_not_tried_again_and_runs_without_result_are_paid_for():
    trials = [Trial(rung, scalability(rung)) for rung in rungs(LEVELS)]
    goal = Goal(runs=12, noisy_runs=12)
    next_clients = advise(LEVELS, trials, goal).clients
    advice = advise(LEVELS, trials, goal, spoilt=2, refused=[next_clients])
    assert advice.clients not in (next_clients, None)
    assert advice.runs_left == 12 - 3 - 2
    assert advise(LEVELS, trials, goal, spoilt=9).stopped == "spent"
    assert advise(LEVELS, [], GOAL, spoilt=12).stopped == "spent"
    assert advise([4, 8], [], GOAL, spoilt=4, refused=[4, 8]).stopped == "refused"


def test_one_level_alone_is_no_puzzle():
    advice, _ = follow(lambda _: 700, levels=[16], noise=0.01)
    assert advice.best == 16 and advice.probability == 1


@pytest.mark.parametrize(
    ("levels", "trials", "says"),
    [
        ([], [], "levels that rise"),
        ([4, 2], [], "levels that rise"),
        ([0, 2], [], "levels that rise"),
        ([2, 4], [Trial(3, 10.0)], "3 clients is none of the levels"),
        ([2, 4], [Trial(2, 0.0)], "not a throughput"),
        ([2, 4], [Trial(2, math.nan)], "not a throughput"),
    ],
)
def test_what_makes_no_sense_is_refused(levels, trials, says):
    with pytest.raises(ValueError, match=says):
        advise(levels, trials, GOAL)


@pytest.mark.parametrize(
    "wrong", [{"runs": 0}, {"noisy_runs": 3}, {"precision": 0}, {"confidence": 1}, {"ceiling_ms": 0}]
)
def test_a_goal_that_cannot_be_reached_is_refused(wrong):
    with pytest.raises(ValueError, match=r"A search takes|shares|ceiling"):
        Goal(**{"runs": 12, "noisy_runs": 24, **wrong})


@settings(max_examples=15 if WHOLE else 5, deadline=None)
@given(st.data())
def test_any_results_give_a_level_that_is_offered_or_an_end(data):
    levels = sorted(data.draw(st.sets(st.integers(1, 1000), min_size=1, max_size=12)))
    trial = st.builds(Trial, st.sampled_from(levels), st.floats(1e-3, 1e9))
    trials = data.draw(st.lists(trial, max_size=14))
    advice = advise(levels, trials, GOAL)
    assert (advice.clients is None) == bool(advice.stopped)
    assert advice.clients is None or advice.clients in levels
    if advice.best is not None:
        assert 0 < advice.low <= advice.estimate <= advice.high and 0 <= advice.probability <= 1
