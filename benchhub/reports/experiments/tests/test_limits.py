"""What was full at each level stands on the experiment's page, from the run nearest the level's mean."""

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.accounts.rights import Role
from benchhub.accounts.testing import make_user
from benchhub.bench import testing
from benchhub.bench.models import RunTelemetry
from benchhub.bench.results.telemetry import sysstat
from runners.telemetry import compact

pytestmark = pytest.mark.django_db


def observe(run, metric, percent, packed=None):
    values = {"unit": "%", "start_epoch_s": 1.0, "step_s": 1.0}
    RunTelemetry.objects.create(run=run, metric=metric, packed=packed or compact.pack([percent, percent]), **values)


@pytest.fixture
def experiment(systems):
    made = testing.make_experiment(systems[:1])
    for clients, repeat, tps in ((1, 1, 300.0), (8, 1, 900.0), (8, 2, 1000.0), (8, 3, 1150.0)):
        testing.succeeded(testing.make_run(made, systems[0], clients, repeat), tps)
    return made


def page(reader, experiment):
    return reader.get(reverse("experiment", args=[experiment.pk]))


def test_the_run_nearest_the_mean_of_its_level_tells_what_was_full(reader, experiment):
    nearest = experiment.runs.get(clients=8, repeat=2)
    observe(nearest, "cpu_user", 96.0)
    observe(experiment.runs.get(clients=8, repeat=1), "cpu_user", 10.0)
    response = page(reader, experiment)
    assertContains(response, "CPU 96%")
    assertContains(response, "no telemetry")  # at 1 client
    assertContains(response, f"{reverse('run', args=[nearest.pk])}#timeline")
    assertContains(response, "Full is evidence and no proof")


def test_nothing_is_said_where_nothing_was_observed_or_all_of_it_is_damaged(reader, experiment):
    assertNotContains(page(reader, experiment), "What was full at each level")
    observe(experiment.runs.get(clients=8, repeat=2), "cpu_user", 0, packed=b"\1no")
    assert page(reader, experiment).status_code == 200


def test_what_sysstat_noted_is_said_to_be_of_it(reader, experiment):
    nearest = experiment.runs.get(clients=8, repeat=2)
    testing.dated(nearest)
    sysstat.store(nearest, testing.sysstat_json(nodename="db7"), make_user("ann", Role.RUNNER))
    observe(experiment.runs.get(clients=1, repeat=1), "cpu_user", 96.0)
    response = page(reader, experiment)
    assertContains(response, ", as sysstat noted it on db7", count=1)
    assertContains(response, "CPU 96%")
