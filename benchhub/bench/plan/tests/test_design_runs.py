"""The runs of an experiment, as its design makes them."""

import pytest

from benchhub.bench import testing
from benchhub.bench.models import Design, Experiment
from benchhub.bench.plan import plan

pytestmark = pytest.mark.django_db


def queued_experiment(system, **fields):
    """Queue an experiment of 2 levels x 2 repeats on one system."""
    first = testing.make_experiment([system])
    values = {"client_levels": [8, 1], "repeats": 2, "duration_s": 60, "name": "e", **fields}
    experiment = Experiment(
        workload=first.workload, client_build=first.client_build, client_bin_directory="/b", **values
    )
    plan.queue(experiment, [system])
    return experiment


@pytest.fixture
def system():
    host = testing.probed_host("18.1")
    return testing.make_system("18", host, host.hardware)


def test_data_loaded_anew_are_loaded_before_each_run_and_not_first(system):
    experiment = queued_experiment(system, loading="each", repeats=1)
    runs = [(run.kind, run.clients, run.repeat) for run in experiment.runs.order_by("position")]
    assert runs == [("load", 8, 1), ("measure", 8, 1), ("load", 1, 1), ("measure", 1, 1)]


def test_the_canary_comes_first_and_adds_no_run(system):
    experiment = queued_experiment(system, canary="waits")
    runs = [(run.kind, run.clients, run.repeat, run.is_canary) for run in experiment.runs.order_by("position")]
    assert runs == [
        ("load", 0, 0, True), ("measure", 1, 1, True), ("measure", 8, 1, True),
        ("measure", 8, 2, False), ("measure", 1, 2, False),
    ]  # fmt: skip


def test_a_plan_of_defaults_keeps_the_protocol_that_it_always_had(system):
    form = queued_experiment(system).runs.first().protocol.form
    assert not {"loading", "warmup_run", "settle_s", "restart", "drop_caches"} & form.keys()
    other = queued_experiment(system, settle_s=5, warmup_run_s=60).runs.first().protocol.form
    assert (other["settle_s"], other["warmup_run"]) == (5, {"duration_s": 60, "clients": 1})


def test_an_experiment_that_is_run_again_waits_for_its_canary_again_and_is_no_part_of_the_design(system):
    first = queued_experiment(system, canary="waits")
    Experiment.objects.filter(pk=first.pk).update(canary="passed", design=Design.objects.create(name="d"))
    copy = plan.again(Experiment.objects.get(pk=first.pk))
    assert (copy.canary, copy.design_id) == ("waits", None)
