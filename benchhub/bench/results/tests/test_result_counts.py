"""The number of results that a curve's row keeps is the number that counting all runs would give."""

import pytest
from django.utils import timezone

from benchhub.bench import testing
from benchhub.bench.models import ExperimentSystem, Result, Run
from benchhub.catalog.models import Hardware

pytestmark = pytest.mark.django_db


@pytest.fixture
def experiment():
    host, box = testing.make_host(), Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8)
    return testing.make_experiment([testing.make_system(version, host, box) for version in ("16", "18")])


def counts(experiment):
    rows = ExperimentSystem.objects.filter(experiment=experiment).order_by("position")
    stored = [row.result_count for row in rows]
    assert stored == [Run.objects.filter(experiment=experiment, system=row.system).measured().count() for row in rows]
    return stored


def test_each_result_counts_once_and_one_that_is_set_aside_does_not(experiment):
    first, second = experiment.systems.order_by("pk")
    assert counts(experiment) == [0, 0]
    runs = [testing.make_run(experiment, first, 8, repeat) for repeat in (1, 2, 3)]
    for run in runs:
        testing.succeeded(run, 100.0)
    testing.succeeded(testing.make_run(experiment, second, 8, 1), 100.0)
    assert counts(experiment) == [3, 1]
    Run.objects.filter(pk=runs[0].pk).update(set_aside_at=timezone.now(), set_aside_reason="a backup ran")
    assert counts(experiment) == [2, 1]
    Run.objects.filter(pk=runs[0].pk).update(set_aside_at=None)
    assert counts(experiment) == [3, 1]
    Result.objects.filter(run=runs[1]).delete()
    Run.objects.filter(pk=runs[1].pk).update(reason="its output was misread")
    rows = ExperimentSystem.objects.filter(experiment=experiment).order_by("position")
    assert [row.result_count for row in rows] == [2, 1]


def test_what_is_no_point_of_a_curve_does_not_count(experiment):
    system = experiment.systems.order_by("pk").first()
    testing.succeeded(testing.make_run(experiment, system, 8, 1, kind=Run.Kind.WARMUP), 100.0)
    testing.succeeded(testing.make_run(experiment, system, 8, 1, rate_tps=500), 100.0)
    testing.ended(testing.make_run(experiment, system, 8, 2), "failed")
    assert counts(experiment) == [0, 0]
