import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains

from benchhub.bench.models import Experiment
from benchhub.reports.experiments.protocol import sentences


def test_a_plan_that_asks_for_nothing_more_says_nothing_more():
    assert sentences(Experiment(thread_rule="clients")) == []


def test_all_that_was_asked_for_beside_the_levels_is_said_in_the_order_in_which_it_is_done():
    experiment = Experiment(
        thread_rule="clients/2", warmup_run_s=600, warmup_run_clients=2, loading="each", vacuum=True, checkpoint=True,
        restart=True, drop_caches=True, settle_s=5, order="listed", kept_only=["scale=100", "clients=8"],
        left_out=["clients=2; repeat=3"],
    )  # fmt: skip
    assert sentences(experiment) == [
        "Each system is warmed up first by a run of 10 min with 2 clients.",
        "Before each run the data set is loaded anew, the tables are vacuumed, a checkpoint is made, the server is "
        "restarted, the host's page cache is dropped, all rests for 5 s to settle.",
        "The runs come as listed: system by system, level by level.",
        "Threads of the load generator: clients/2.",
        "Only these runs: scale=100 or clients=8.",
        "Without these runs: clients=2; repeat=3.",
    ]


@pytest.mark.django_db
def test_the_page_of_an_experiment_says_what_was_done_before_each_run(reader, experiment):
    Experiment.objects.filter(pk=experiment.pk).update(checkpoint=True)
    page = reader.get(reverse("experiment", args=[experiment.pk]))
    assertContains(page, "as the client of all systems. Before each run a checkpoint is made.</p>")
