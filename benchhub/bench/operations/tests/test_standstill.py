"""Every page says within two leases that nobody works, and says nothing while somebody does."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.asserts import assertContains

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Run, Worker
from benchhub.bench.operations.vitals import ALIVE_WITHIN
from benchhub.catalog.models import Hardware

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer(client):
    client.force_login(make_user("grace", Role.VIEWER))
    return client


@pytest.fixture
def run():
    host, box = testing.make_host(), Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8)
    experiment = testing.make_experiment([testing.make_system("18", host, box)])
    return testing.make_run(experiment, experiment.systems.get(), 8, 1)


def test_runs_that_wait_for_a_worker_that_is_gone_are_told_with_how_long(viewer, run):
    Worker.objects.create(name="w1", clock_ahead_s=0.0, ticked_at=timezone.now() - ALIVE_WITHIN - timedelta(minutes=5))
    page = viewer.get("/standstill")
    assertContains(page, "Nobody has worked for 7 min")
    assertContains(page, "1 run waits")


def test_where_no_worker_ever_was_the_sentence_says_so(viewer, run):
    assertContains(viewer.get("/standstill"), "Nobody has worked since BenchHub was installed")


def test_a_worker_that_answers_or_nothing_that_waits_says_nothing(viewer, run):
    worker = Worker.objects.create(name="w1", clock_ahead_s=0.0, ticked_at=timezone.now())
    assert viewer.get("/standstill").content == b""
    worker.delete()
    Run.objects.update(state="cancelled")
    assert viewer.get("/standstill").content == b""


def test_every_page_asks_for_it_and_a_stranger_is_told_nothing(viewer, client, run):
    assertContains(viewer.get("/hosts/"), 'hx-get="/standstill"')
    client.logout()
    assert client.get("/standstill").status_code == 302
