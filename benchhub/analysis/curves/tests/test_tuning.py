import math
import random

import pytest

from benchhub.analysis.curves import tuning
from benchhub.analysis.curves.tuning import NoTuningError, series

# What report C lists: its gains compound to 1.44.
GAINS = (1.12, 1.02, 1.06, 1.07, 1.09, 1.02)


def repeats(mean):
    return [mean * factor for factor in (0.99, 1.0, 1.01)]


def built_up(*gains, levels=(8, 16)):
    totals = [math.prod(gains[:count]) for count in range(len(gains) + 1)]
    return [{clients: repeats(100 * clients * total) for clients in levels} for total in totals]


def test_cumulative_steps_are_each_against_the_one_before():
    tuning = series(built_up(*GAINS), "cumulative")
    assert [step.value for step in tuning.steps] == pytest.approx(GAINS)
    assert tuning.total.value == pytest.approx(math.prod(GAINS)) == pytest.approx(1.4406, abs=1e-4)
    assert tuning.is_measured
    assert tuning.clients == (8, 16)


def test_steps_made_one_at_a_time_are_each_against_the_baseline():
    systems = [{8: repeats(100.0)}, {8: repeats(110.0)}, {8: repeats(120.0)}]
    tuning = series(systems, "one-at-a-time")
    assert [step.value for step in tuning.steps] == pytest.approx([1.1, 1.2])
    assert tuning.total.value == pytest.approx(1.32)
    assert not tuning.is_measured


def test_the_product_of_steps_made_one_at_a_time_is_less_sure_because_they_share_a_baseline():
    systems = [{8: repeats(100.0)}, {8: repeats(110.0)}, {8: repeats(120.0)}]
    total = series(systems, "one-at-a-time").total
    # Variance v of each mean: 2 v of the steps and 2^2 v of the baseline, 6 v; degrees 36 / (2 / 2 + 16 / 2) = 4
    logs = [math.log(value) for value in (0.99, 1.0, 1.01)]
    v = sum((log - sum(logs) / 3) ** 2 for log in logs) / 2 / 3
    assert math.log(total.highest / total.value) == pytest.approx(2.776445 * math.sqrt(6 * v), rel=1e-5)


def test_one_level_can_be_asked_for():
    systems = [{8: repeats(100.0), 16: repeats(100.0)}, {8: repeats(110.0), 16: repeats(150.0)}]
    assert series(systems, "cumulative", clients=16).steps[0].value == pytest.approx(1.5)


def test_a_step_that_does_nothing_is_not_told_apart():
    tuning = series(built_up(1.2, 1.001), "cumulative")
    assert [step.verdict for step in tuning.steps] == ["more", "not distinguishable"]
    assert all(step.adjusted_p >= step.p for step in tuning.steps)


@pytest.mark.parametrize(
    ("systems", "clients", "why"),
    [
        ([{8: repeats(1.0)}], None, "at least one step"),
        ([{8: repeats(1.0)}, {16: repeats(1.0)}], None, "no level that all"),
        ([{8: repeats(1.0)}, {8: repeats(1.0)}], 16, "no run at 16 clients"),
        ([{8: repeats(1.0)}, {8: [1.0, 2.0]}], None, "3 repeats of every system"),
        ([{8: [1.0] * 3}, {8: [2.0] * 3}], None, "do not scatter"),
    ],
)
def test_what_makes_no_series_is_refused_with_the_reason(systems, clients, why):
    with pytest.raises(NoTuningError, match=why):
        series(systems, "cumulative", clients)


@pytest.mark.parametrize("way", ["cumulative", "one-at-a-time"])
def test_the_interval_of_the_total_covers_the_truth_in_95_of_100_series(way):
    source, covered, runs = random.Random(20261121), 0, 1000
    truth = (1.0, 1.1, 1.21) if way == "cumulative" else (1.0, 1.1, 1.1)
    for _ in range(runs):
        systems = [{8: [100 * factor * (1 + source.gauss(0, 0.02)) for _ in range(5)]} for factor in truth]
        total = series(systems, way).total
        covered += total.lowest <= 1.21 <= total.highest
    assert 0.93 <= covered / runs <= 0.97
    assert tuning.series(systems, way).way == way
