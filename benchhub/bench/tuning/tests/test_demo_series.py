import pytest

from benchhub.bench.management.commands import demo_tuning
from benchhub.bench.models import Run
from benchhub.catalog.models import Workload

pytestmark = pytest.mark.django_db


def test_the_demonstration_is_a_series_that_the_form_takes(cluster, workload, django_user_model):
    fields = {"tool": workload.tool, "parameters": workload.parameters}
    Workload.objects.create(name="pgbench tpcb-like, scale 10", **fields)
    django_user_model.objects.create_superuser("demo")
    series = demo_tuning.queue_series(cluster, "demo")
    assert series.experiment.is_demonstration
    assert [step.name for step in series.steps.all()] == [name for name, _ in demo_tuning.STEPS]
    assert series.experiment.runs.filter(kind=Run.Kind.MEASURE).count() == 15
    again = demo_tuning.queue_series(cluster, "demo")
    assert again.name == "Demonstration: tuning 2"


def test_a_cluster_that_is_made_already_is_taken(cluster, host):
    cluster.name = demo_tuning.CLUSTER_NAME
    cluster.save()
    assert demo_tuning.ensure_cluster(host, cluster.bin_directory) == cluster
