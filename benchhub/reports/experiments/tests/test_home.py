from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import Run, Watch
from benchhub.catalog.models import Hardware, Host

pytestmark = pytest.mark.django_db


def test_an_empty_warehouse_says_what_to_do_first_and_what_is_done(reader):
    response = reader.get("/")
    assertContains(response, "What to do first")
    assertContains(response, "make demo")
    assertContains(response, reverse("experiment-new"))
    assertNotContains(response, "Running now")
    assertNotContains(response, "(done)")
    Hardware.objects.create(name="Box", sockets=1, cores_per_socket=1)
    assertContains(reader.get("/"), "(done)", count=1)


def test_home_shows_what_runs_with_its_step_rate_and_the_time_it_still_takes(reader, experiment, systems):
    run = testing.make_run(experiment, systems[0], 16, 1)
    for state in ("reserved", "starting", "running"):
        Run.objects.filter(pk=run.pk).update(state=state)
    Run.objects.filter(pk=run.pk).update(started_at=timezone.now() - timedelta(seconds=30))
    Watch.objects.create(run=run, step="measuring", live_tps=4321.9)
    later = testing.make_run(experiment, systems[1], 16, 1)
    response = reader.get("/")
    for text in ("measuring", "4,320</data> TPS", ">31 s<", "Next in the queue", "1 run waits", f">{later.pk}</a>"):
        assertContains(response, text)
    assertNotContains(response, "What to do first")
    assertNotContains(response, "Hosts that need attention")


def test_home_lists_the_latest_results_first_with_their_doubts(reader, experiment, systems):
    doubts = [{"code": "client_bound", "text": "The client may be the limit."}]
    result = testing.succeeded(testing.make_run(experiment, systems[0], 16, 1), 1234.0, doubts=doubts)
    page = reader.get("/").content.decode()
    latest = page[page.index('id="latest"') :]
    assert latest.index(f">{result.run_id}</a>") < latest.index(f">{result.run_id - 1}</a>")
    assert "The client may be the limit." in latest
    assert "1,234</data> TPS" in latest
    assert "Nothing runs at the moment." in page


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"trust": "quarantined"}, "its host key changed"),
        ({"trust": "offered"}, "waits for your approval"),
        ({"contact_error": "No route to host."}, "No route to host."),
    ],
)
def test_home_names_hosts_that_need_a_person(reader, experiment, systems, changes, why):
    Host.objects.update(contacted_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), **changes)
    response = reader.get("/")
    assertContains(response, why)
    assertContains(response, "2026-01-02 03:04:05 UTC")


def test_a_host_that_a_run_cannot_reach_needs_attention_too(reader, experiment, systems):
    run = testing.make_run(experiment, systems[0], 16, 1)
    Run.objects.filter(pk=run.pk).update(state="reserved")
    Watch.objects.create(run=run, contact_error="It did not answer in time.")
    page = reader.get("/").content.decode()
    assert "It did not answer in time." in page[page.index('id="troubles"') : page.index('id="now"')]
