"""What people ask of a host waits, and says why, while an experiment has it to itself."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchhub.bench import testing
from benchhub.bench.additions import builds
from benchhub.bench.execute import clusters, inspections, tidy, visits
from benchhub.bench.models import Attempt, Experiment
from benchhub.bench.plan.systems import system_under_test
from benchhub.bench.queue import queue, timetable
from benchhub.bench.tuning.testing import make_cluster, make_workload
from benchhub.catalog.models import Cluster, Host, Inspection, SourceBuild

pytestmark = pytest.mark.django_db


@pytest.fixture
def own():
    return make_cluster(testing.probed_host("18"))


@pytest.fixture
def night(own):
    make_workload()
    driven = {"driver": own.host, "hardware": own.host.hardware, "path": "socket", "label": "own"}
    system = system_under_test(own, **driven)
    experiment = testing.make_experiment([system], name="Night")
    testing.make_run(experiment, system, 1, 1)
    Experiment.objects.update(is_exclusive=True)
    now = timezone.now()
    timetable.reserve_once(experiment, now - timedelta(hours=1), now + timedelta(hours=1), zone="UTC", reason="")
    return experiment


def test_visits_looks_and_builds_are_put_off_and_nothing_is_sent(night, own):
    host = Host.objects.get(pk=own.host_id)
    host.ask(Host.Wanted.FACTS)
    own.cluster.ask(Cluster.Wanted.LOOK)
    Inspection.ask(own, host)
    build = SourceBuild.objects.create(host=host, kind="release", revision="18.1", digest="d")
    assert (visits.visit_hosts(), clusters.visit_clusters(), inspections.visit_inspections()) == (0, 0, 0)
    assert builds.take_turns() == 0
    for row in (host, own.cluster, Inspection.objects.get(), build):
        row.refresh_from_db()
        assert row.contact_error.startswith("Night has the host to itself, ")
        assert row.contact_error.endswith("(UTC): it is done when that is over.")
    assert (host.wanted, own.cluster.wanted, Inspection.objects.get().is_wanted) == ("facts", "look", True)


def test_what_might_reach_into_a_period_that_begins_soon_is_put_off_as_well(night, own):
    night.reservations.all().delete()
    begins = timezone.now() + timedelta(seconds=75)
    timetable.reserve_once(night, begins, begins + timedelta(hours=1), zone="UTC", reason="")
    Host.objects.get(pk=own.host_id).ask(Host.Wanted.FACTS)
    own.cluster.ask(Cluster.Wanted.LOOK)
    Inspection.ask(own, own.host)
    assert (visits.visit_hosts(), clusters.visit_clusters(), inspections.visit_inspections()) == (0, 0, 0)


def test_the_periods_are_read_once_for_all_builds_that_wait(night, own, django_assert_num_queries):
    SourceBuild.objects.create(host=own.host, kind="release", revision="18.1", digest="d1")
    with CaptureQueriesContext(connection) as first:
        builds.take_turns()
    SourceBuild.objects.create(host=own.host, kind="release", revision="18.2", digest="d2")
    with django_assert_num_queries(len(first) + 2):  # whether its host is blocked, and its note
        builds.take_turns()


def test_what_is_left_on_a_reserved_host_takes_no_place_of_others_in_the_clean_up(night, own, monkeypatch):
    monkeypatch.setattr(tidy, "AT_A_TIME", 1)
    pinned = {"trust": Host.Trust.PINNED, "host_key": "ssh-ed25519 AAAA"}
    host = Host.objects.create(name="free", address="free.test", username="bench", **pinned)
    free = testing.make_system("17", host, own.host.hardware)
    experiment = testing.make_experiment([free])
    for run in (night.runs.get(), testing.make_run(experiment, free, 1, 1)):
        Attempt.objects.create(run=run, number=1, outcome="failed", ended_at=timezone.now() - timedelta(days=99))
    assert {row.run.system_id for _ in range(5) for row in tidy.undisturbing()} == {free.pk}


def test_a_build_takes_its_turn_when_the_experiment_is_paused(night, own):
    build = SourceBuild.objects.create(host=own.host, kind="release", revision="18.1", digest="d")
    queue.pause(night, "Paused by ada.")
    assert builds.take_turns() == 1
    build.refresh_from_db()
    assert build.contact_error == ""
