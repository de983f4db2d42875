"""Lanes: places on the axis worked out by hand."""

import math

import pytest
from django.http import QueryDict
from django.template.loader import render_to_string

from benchhub.bench import testing
from benchhub.reports.comparison.answers import lanes
from benchhub.reports.comparison.comparison import Comparison
from benchhub.reports.comparison.state import State
from benchhub.reports.testing import key

pytestmark = pytest.mark.django_db


def lanes_of(experiment, systems):
    query = QueryDict(mutable=True)
    query.setlist("curve", [key(experiment, system) for system in systems])
    return Comparison.load(State.read(query)).lanes


def test_a_single_run_twice_as_fast_lies_at_its_ratio_and_the_axis_reaches_a_little_beyond(systems):
    """The axis reaches 1.06 x log 2, so that log 2 lies at 50 + 50 / 1.06 = 97.17%."""
    experiment = testing.make_experiment(systems, name="Twice")
    for system, tps in zip(systems, (1000.0, 2000.0), strict=True):
        testing.succeeded(testing.make_run(experiment, system, 8, 1), tps)
    drawn = lanes_of(experiment, systems)
    (lane,) = drawn.rows
    assert [(dot.series, dot.x) for dot in lane.dots] == [(1, "97.17"), (0, "50.00")]
    assert (lane.middle, lane.low, lane.width) == ("97.17", "97.17", "0.00")
    assert (lane.verdict, lane.is_shown) == ("not tested", False)
    assert (drawn.first, drawn.last) == (f"{2**-1.06:.2f}x", f"{2**1.06:.2f}x")
    slow, fast = (system.runs.get() for system in systems)
    assert [(repeat.run, repeat.series, repeat.value) for repeat in lane.repeats] == [
        (slow.pk, 0, "1,000"), (fast.pk, 1, "2,000"),
    ]  # fmt: skip


def test_repeats_that_are_told_apart_say_which_is_more_and_alike_ones_show_no_difference(repeated, systems):
    first, second, third = lanes_of(repeated, systems).rows
    assert [lane.clients for lane in (first, second, third)] == [1, 8, 32]
    assert first.verdict == "no difference shown"
    assert not first.is_shown
    assert (second.verdict, second.is_shown) == ("PostgreSQL 18 more", True)
    assert len(second.dots) == 10


def test_noise_of_a_per_mille_does_not_fill_the_axis(systems):
    experiment = testing.make_experiment(systems, name="Quiet")
    for system in systems:
        for repeat, tps in enumerate((999.0, 1000.0, 1001.0), start=1):
            testing.succeeded(testing.make_run(experiment, system, 8, repeat), tps)
    (lane,) = lanes_of(experiment, systems).rows
    widest = 50 * math.log(1.001) / (1.06 * math.log(1.05))
    assert all(abs(float(dot.x) - 50) <= widest + 0.01 for dot in lane.dots)


def test_of_many_repeats_the_last_are_listed_the_others_counted_and_all_are_dots(repeated, systems, monkeypatch):
    monkeypatch.setattr(lanes, "MOST_LISTED", 2)
    lane = lanes_of(repeated, systems).rows[1]
    runs = [run.pk for system in systems for run in system.runs.filter(clients=lane.clients).order_by("position")[3:]]
    assert [repeat.run for repeat in lane.repeats] == runs
    assert [(earlier.runs, earlier.series) for earlier in lane.earlier] == [(3, 0), (3, 1)]
    assert (lane.runs, len(lane.dots)) == (10, 10)


def test_earlier_runs_of_each_curve_are_found_in_the_list_of_runs_of_its_own_experiment(systems, monkeypatch):
    monkeypatch.setattr(lanes, "MOST_LISTED", 2)
    experiments = [testing.make_experiment([system], name=f"Only {system.label}") for system in systems]
    for experiment, system in zip(experiments, systems, strict=True):
        for repeat in range(1, 6 if system is systems[0] else 4):
            testing.succeeded(testing.make_run(experiment, system, 8, repeat), 1000.0)
    keys = [key(experiment, system) for experiment, system in zip(experiments, systems, strict=True)]
    [lane] = Comparison.load(State.of_curves(keys)).lanes.rows
    assert [earlier.runs for earlier in lane.earlier] == [3, 1]
    acts = render_to_string("reports/compare_lane_acts.html", {"lane": lane})
    for experiment, system in zip(experiments, systems, strict=True):
        assert f'href="/experiments/{experiment.pk}/?system={system.pk}&amp;clients=8#runs"' in acts
