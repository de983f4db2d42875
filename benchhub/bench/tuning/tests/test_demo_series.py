import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

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


@pytest.mark.parametrize("command", ["demo_experiment", "demo_tuning"])
def test_where_to_watch_is_said_once_the_user_is_there_and_before_the_target_is_asked(
    command, tmp_path, monkeypatch, capsys, django_user_model
):
    target = tmp_path / "target.json"
    target.write_text(json.dumps({"user": {"username": "demo", "password": "secret"}}))

    def check(_target_facts):
        assert capsys.readouterr().out == "  Watch it at http://127.0.0.1:8000, user demo, password secret\n"
        assert django_user_model.objects.get(username="demo").check_password("secret")
        raise CommandError("far enough")

    monkeypatch.setattr(f"benchhub.bench.management.commands.{command}.ensure_host", check)
    with pytest.raises(CommandError, match="far enough"):
        call_command(command, "--target", str(target), "--pages", "http://127.0.0.1:8000")
