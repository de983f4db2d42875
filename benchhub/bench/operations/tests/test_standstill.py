"""Every page says within two leases that nobody works, and says nothing while somebody does."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import Run, Watch, Worker
from benchhub.bench.models.queue import ALIVE_WITHIN
from benchhub.bench.models.states import State
from benchhub.bench.queue import queue
from benchhub.bench.queue.page import QueuePage
from benchhub.catalog.models import Hardware

pytestmark = pytest.mark.django_db
BASE = settings.BASE_DIR / "frontend" / "templates"


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
    Worker.objects.create(name="w1", clock_ahead_s=0.0, ticked_at=timezone.now() - timedelta(minutes=7, seconds=5))
    page = viewer.get("/standstill")
    assertContains(page, "BenchHub has stood still for 7 min")
    assertContains(page, "1 run waits")


def test_a_worker_that_died_before_a_clock_was_set_back_is_not_taken_for_alive(viewer, run):
    Worker.objects.create(name="w1", clock_ahead_s=0.0, ticked_at=timezone.now() + timedelta(hours=2))
    assertContains(viewer.get("/standstill"), "BenchHub has stood still for 0 s")


def test_within_two_leases_every_page_has_asked_and_was_told():
    asks_every = timedelta(seconds=20)
    assert f'hx-trigger="load, every {asks_every.seconds}s"' in (BASE / "base.html").read_text()
    assert ALIVE_WITHIN + asks_every <= 2 * timedelta(seconds=60)


def test_where_no_worker_ever_was_the_sentence_says_so(viewer, run):
    assertContains(viewer.get("/standstill"), "BenchHub has stood still since it was installed")


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


def test_estimates_stop_while_nobody_works_and_come_back_with_the_first_worker(viewer, run):
    address = f"/experiments/{run.experiment_id}/"
    assertContains(viewer.get(address), "when it will end is not known")
    [row] = QueuePage.load(timezone.now()).lanes[0].waiting
    assert (row.expected_at, row.is_due) == (None, False)
    testing.make_worker()
    assertNotContains(viewer.get(address), "when it will end is not known")
    assertContains(viewer.get("/queue/"), "It starts with")


def test_nothing_is_estimated_of_a_host_that_is_not_reached_and_its_run_says_since_when(viewer, run):
    testing.make_worker()
    for state in (State.RESERVED, State.STARTING, State.RUNNING):
        queue.move(run, state)
    watch = Watch.objects.create(run=run, last_contact_at=timezone.now())
    waits = testing.make_run(run.experiment, run.system, 8, 2)
    address = f"/experiments/{run.experiment_id}/"
    assertContains(viewer.get(address), '<span class="under">seen')
    assertContains(viewer.get(address), "<span data-left>")
    Watch.objects.filter(pk=watch.pk).update(unreachable_since=timezone.now())
    assertContains(viewer.get(address), "not reached since")
    assertContains(viewer.get(address), "when it will end is not known")
    [row] = [row for lane in QueuePage.load(timezone.now()).lanes for row in lane.waiting]
    assert (row.run, row.expected_at) == (waits, None)
    assert "nobody knows when it ends" in " ".join(row.reasons)
