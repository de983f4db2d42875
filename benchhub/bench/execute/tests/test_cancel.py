import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertRedirects

from benchhub.bench import testing
from benchhub.bench.models import Run, Watch

pytestmark = pytest.mark.django_db


@pytest.fixture
def experiment():
    """Four runs in the queue."""
    hardware = testing.make_box()
    system = testing.make_system("18", testing.make_host(), hardware)
    made = testing.make_experiment([system])
    for clients in (1, 2, 4, 8):
        testing.make_run(made, system, clients, 1)
    return made


def test_nothing_is_cancelled_without_signing_in(client, experiment):
    run = experiment.runs.first()
    for address in (reverse("experiment-cancel", args=[experiment.pk]), reverse("run-cancel", args=[run.pk])):
        for response in (client.get(address), client.post(address)):
            assert response.url.startswith(reverse("login"))
    assert set(experiment.runs.values_list("state", "cancel_asked_at")) == {("queued", None)}


def test_cancelling_an_experiment_asks_first_and_ends_what_waits(planner, experiment):
    address = reverse("experiment-cancel", args=[experiment.pk])
    response = planner.get(address)
    assertContains(response, "Cancel Two builds?")
    assertContains(response, "4 runs left")
    assert set(experiment.runs.values_list("state", flat=True)) == {"queued"}
    response = planner.post(address, follow=True)
    assertRedirects(response, reverse("experiment", args=[experiment.pk]))
    assertContains(response, "4 runs cancelled")
    assert set(experiment.runs.values_list("state", flat=True)) == {"cancelled"}


def test_a_run_under_way_is_asked_to_end_and_nothing_else_is(planner, experiment):
    run = experiment.runs.get(position=3)
    Run.objects.filter(pk=run.pk).update(state="reserved")
    Watch.objects.create(run=run)
    address = reverse("run-cancel", args=[run.pk])
    assertContains(planner.get(address), f"Cancel run {run.pk}?")
    assert not Run.objects.filter(cancel_asked_at__isnull=False).exists()
    assertContains(planner.post(address, follow=True), "being cancelled")
    assert list(Run.objects.filter(cancel_asked_at__isnull=False)) == [run]
    assert experiment.runs.filter(state="cancelled").count() == 0


def test_what_has_ended_is_not_cancelled(planner, experiment):
    run = experiment.runs.get(position=3)
    testing.succeeded(run, 100.0)
    for response in (planner.get(reverse("run-cancel", args=[run.pk]), follow=True),
                     planner.post(reverse("run-cancel", args=[run.pk]), follow=True)):  # fmt: skip
        assertContains(response, "Nothing was left to cancel")
    run.refresh_from_db()
    assert (run.state, run.cancel_asked_at) == ("succeeded", None)


def test_what_is_not_there_is_not_found(planner):
    for address in ("/experiments/999/cancel", "/runs/999/cancel"):
        assert planner.get(address).status_code == 404
