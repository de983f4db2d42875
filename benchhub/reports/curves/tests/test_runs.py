"""A curve is made of all measured runs of a level up to a bound, then of the newest, and says how many are left out."""

from datetime import timedelta

import pytest
from django.db.models import Q
from django.utils import timezone

from benchhub.bench import testing
from benchhub.bench.models import Run, levels
from benchhub.bench.results import aside
from benchhub.catalog.models import Hardware
from benchhub.reports.comparison import queries as compared
from benchhub.reports.comparison.answers import doubts
from benchhub.reports.comparison.entries import build
from benchhub.reports.curves import csv, verdicts
from benchhub.reports.curves import runs as curve_runs
from benchhub.reports.experiments import page, queries

pytestmark = pytest.mark.django_db
MOST = 3


@pytest.fixture
def system():
    return testing.make_system("18", testing.make_host(), Hardware.objects.create(sockets=1, cores_per_socket=4))


@pytest.fixture
def experiment(monkeypatch, system):
    """At 8 clients three measured runs and later four that failed, four cancelled and four that wait; at 16 one."""
    monkeypatch.setattr(levels, "MOST_REPEATS", MOST)
    made = testing.make_experiment([system], client_levels=[8, 16])
    for repeat in (1, 2, 3):
        testing.succeeded(testing.make_run(made, system, 8, repeat), 100.0 * 2**repeat)
    for repeat in range(4, 8):
        testing.ended(testing.make_run(made, system, 8, repeat), "failed", "it broke")
    for repeat in range(8, 12):
        testing.make_run(made, system, 8, repeat, state="cancelled")
    for repeat in range(12, 16):
        testing.make_run(made, system, 8, repeat)
    testing.succeeded(testing.make_run(made, system, 16, 1), 200.0)
    return made


def level(experiment, clients=8):
    [group] = page.groups(experiment, queries.curve_runs(experiment), queries.systems(experiment))
    return next(level for level in group.curves[0].curve.levels if level.clients == clients)


def measure(experiment, tps, days, repeat):
    """Add a run at 8 clients that was measured so many days ago."""
    run = testing.make_run(experiment, experiment.systems.get(), 8, repeat)
    testing.succeeded(run, tps)
    Run.objects.filter(pk=run.pk).update(started_at=timezone.now() - timedelta(days=days))
    return run


def texts(experiment):
    keys = compared.of_experiment(experiment.pk)
    [entry], _ = build(compared.rows(keys), compared.runs(keys))
    return doubts.of_curve(entry)


def test_runs_in_other_states_take_no_measured_run_out_of_its_level_and_are_all_counted(experiment):
    assert (level(experiment).throughput.n, level(experiment).left_out) == (3, 0)
    assert level(experiment).throughput.mean == pytest.approx(400.0)  # (200 x 400 x 800) ** (1/3)
    text = " ".join(texts(experiment))
    assert "4 of 16 runs are still to come" in text
    assert "4 of 16 runs failed" in text and "4 of 16 runs were cancelled" in text
    assert "older" not in text
    assert "newest-runs" not in verdicts.of_curve(queries.curve_runs(experiment)).codes


def test_beyond_the_bound_the_newest_by_time_are_read_whatever_their_repeat_is(experiment):
    measure(experiment, 1.0, days=900, repeat=1_000_000)
    assert level(experiment).throughput.mean == pytest.approx(400.0)
    measure(experiment, 1600.0, days=-1, repeat=50)
    assert level(experiment).throughput.n == MOST
    assert level(experiment).throughput.mean == pytest.approx(800.0)  # of 400, 800 and 1,600
    assert (level(experiment).left_out, level(experiment, 16).left_out) == (2, 0)


def test_page_csv_and_means_in_the_database_leave_out_the_same_runs_and_say_so(experiment):
    measure(experiment, 1600.0, days=-1, repeat=50)
    [group] = page.groups(experiment, queries.curve_runs(experiment), queries.systems(experiment))
    rows = [row.split(",")[-1] for row in csv.curves_csv([group]).splitlines()]
    assert rows == ["left_out", "1", "0"]
    [peak] = Run.objects.peaks(Q(experiment=experiment)).values()
    assert (peak.throughput, peak.repeats, peak.left_out) == (pytest.approx(800.0), MOST, 1)
    assert sorted(Run.objects.repeats(Q(experiment=experiment)).values()) == [[200.0], [400.0, 800.0, 1600.0]]
    text = " ".join(texts(experiment))
    assert "1 older run is in the list of runs, and in no line, mean or price" in text
    assert "4 of 17 runs failed" in text  # the one that is left out has not failed


def test_a_run_set_aside_makes_room_for_an_older_one(experiment, django_user_model):
    newest = measure(experiment, 1600.0, days=-1, repeat=50)
    aside.set_aside(newest, django_user_model.objects.create_superuser("ada"), "A backup ran.")
    assert level(experiment).throughput.mean == pytest.approx(400.0)
    assert level(experiment).left_out == 0
    assert "1 of 17 runs was set aside by a person, and counts in no figure." in texts(experiment)


def test_of_runs_set_aside_the_newest_are_read_and_all_are_counted(experiment, django_user_model):
    ada = django_user_model.objects.create_superuser("ada")
    runs = [measure(experiment, 50.0, days=repeat, repeat=repeat) for repeat in range(50, 55)]
    for run in runs:
        aside.set_aside(run, ada, "A backup ran.")
    rows = queries.curve_runs(experiment)
    assert [row.pk for row in rows if row.set_aside_at and row.has_result] == [run.pk for run in runs[:MOST]]
    counts = curve_runs.counts(rows)
    assert (counts.runs, counts.aside, counts.measured, counts.failed, counts.left_out) == (21, 5, 4, 4, 0)


def test_each_protocol_has_levels_of_its_own(experiment, system):
    other = testing.Protocol.stored({"path": "tcp"})
    for repeat in range(20, 24):
        testing.succeeded(testing.make_run(experiment, system, 8, repeat, protocol=other), 50.0)
    groups = page.groups(experiment, queries.curve_runs(experiment), queries.systems(experiment))
    ends = [(level.throughput.n, level.left_out) for group in groups for level in group.curves[0].curve.levels]
    assert ends == [(3, 0), (1, 0), (3, 1)]


def test_runs_that_left_nothing_are_one_row_for_all_that_are_alike(experiment):
    rows = curve_runs.read(Q(experiment=experiment))
    assert [row.runs for row in rows if row.has_result] == [1, 1, 1, 1]
    tallies = {row.state: row.runs for row in rows if not row.has_result}
    assert tallies == {"failed": 4, "cancelled": 4, "queued": 4} and len(rows) == 7
    assert (rows[3].throughput, rows[3].unit, list(rows[3].doubts), rows[3].is_final) == (200.0, "TPS", [], True)


def test_a_run_that_ends_while_runs_are_counted_is_counted_once_and_none_has_failed(system, monkeypatch):
    experiment = testing.make_experiment([system], client_levels=[8])
    runs = [testing.make_run(experiment, system, 8, repeat) for repeat in (1, 2, 3, 4)]
    for run in runs[:2]:
        testing.succeeded(run, 100.0)
    tallies = curve_runs._tallies(Q(experiment=experiment))
    testing.succeeded(runs[2], 100.0)
    monkeypatch.setattr(curve_runs, "_tallies", lambda _: tallies)  # as they were before the rows are read
    counts = curve_runs.counts(curve_runs.read(Q(experiment=experiment)))
    assert (counts.runs, counts.measured, counts.unfinished, counts.failed) == (4, 3, 1, 0)


def test_the_first_run_that_ends_while_runs_are_counted_has_a_row_and_no_tally(system, monkeypatch):
    experiment = testing.make_experiment([system], client_levels=[8])
    run = testing.make_run(experiment, system, 8, 1)
    tallies = curve_runs._tallies(Q(experiment=experiment))
    testing.succeeded(run, 100.0)
    monkeypatch.setattr(curve_runs, "_tallies", lambda _: tallies)
    assert [(row.pk, row.runs) for row in curve_runs.read(Q(experiment=experiment))] == [(run.pk, 1)]
