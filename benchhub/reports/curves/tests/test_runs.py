"""A curve is made of the newest runs of each level, and says where there may be older ones."""

import pytest

from benchhub.bench import testing
from benchhub.bench.models import Run
from benchhub.catalog.models import Hardware
from benchhub.reports.curves import runs as curve_runs
from benchhub.reports.curves import verdicts

pytestmark = pytest.mark.django_db


@pytest.fixture
def experiment(monkeypatch):
    """Four repeats at 8 clients that ended, three that wait, and one at 16; two of a level are read."""
    monkeypatch.setattr(curve_runs, "MOST_REPEATS", 2)
    system = testing.make_system("18", testing.make_host(), Hardware.objects.create(sockets=1, cores_per_socket=4))
    made = testing.make_experiment([system], client_levels=[8, 16])
    for repeat in (1, 2, 3):
        testing.succeeded(testing.make_run(made, system, 8, repeat), 100.0 + repeat)
    testing.ended(testing.make_run(made, system, 8, 4), "failed", "it broke")
    for repeat in (5, 6, 7):
        testing.make_run(made, system, 8, repeat)
    testing.succeeded(testing.make_run(made, system, 16, 1), 200.0)
    return made


def test_of_a_level_with_many_runs_the_newest_are_read_of_those_that_ended_and_of_those_to_come(experiment):
    repeats = dict(Run.objects.values_list("pk", "repeat"))
    rows = [(row.clients, repeats[row.pk], row.throughput) for row in curve_runs.read(experiment.runs.all())]
    assert rows == [(8, 3, 103.0), (8, 4, None), (8, 5, None), (8, 6, None), (16, 1, 200.0)]


def test_a_curve_with_a_level_of_many_runs_says_that_older_ones_are_in_no_mean(experiment):
    rows = curve_runs.read(experiment.runs.all())
    assert "newest-runs" in verdicts.of_curve(rows).codes
    assert "newest-runs" not in verdicts.of_curve([row for row in rows if row.clients == 16]).codes


def test_a_run_without_a_result_has_no_throughput_and_one_with_a_result_its_doubts(experiment):
    *_, failed, _, _, alone = curve_runs.read(experiment.runs.all())
    assert (failed.has_result, failed.is_final, failed.is_imported) == (False, True, False)
    assert (alone.has_result, alone.unit, list(alone.doubts)) == (True, "TPS", [])
