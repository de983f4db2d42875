"""What runs do about the data set of their server: loaded once, damaged, of another scale, with a script at fault."""

import psycopg
import pytest

from benchhub.bench.execute import returns
from benchhub.bench.models import Attempt, Evidence, Experiment, Hold, Tenancy
from benchhub.bench.models.states import State
from benchhub.catalog.models import DataSet, Workload

pytestmark = [pytest.mark.long, pytest.mark.django_db, pytest.mark.target]


def test_a_server_that_refuses_the_log_in_fails_no_run_and_pauses_the_experiment(
    worker, system, experiment, cluster16, monkeypatch
):
    monkeypatch.setattr(returns, "FIRST_REST_S", 0)
    server = system(cluster16)
    server.instance.database = "nowhere"
    server.instance.save()
    refused = experiment(server)
    worker.until(lambda: Experiment.objects.filter(paused_at__isnull=False).exists())
    refused.refresh_from_db()
    assert (
        "PostgreSQL refused the log-in" in refused.pause_reason and '"nowhere" does not exist' in refused.pause_reason
    )
    assert {run.state for run in refused.runs.all()} == {State.QUEUED}
    assert refused.runs.first().attempts.count() == returns.MOST_REFUSALS
    assert not Hold.objects.exists()


def test_the_data_set_is_loaded_once_and_described(worker, system, experiment, cluster16):
    server = system(cluster16)
    worker.finish(experiment(server))
    data_set = DataSet.objects.get(instance=server.instance)
    assert data_set.recipe == {"tool": "pgbench", "scale": 1}
    assert data_set.size_bytes > 10_000_000
    assert len(data_set.checksum) == 32
    again = experiment(server)
    assert [run.kind for run in again.runs.all()] == ["measure"]
    assert worker.finish(again)[0].state == State.SUCCEEDED


@pytest.mark.whole
def test_a_run_that_finds_its_data_set_damaged_goes_back_behind_a_load_and_never_fails(
    worker, system, experiment, cluster16
):
    server = system(cluster16)
    worker.finish(experiment(server))
    with psycopg.connect(cluster16.url, autocommit=True) as connection:
        connection.execute("DROP TABLE pgbench_branches")
    runs = worker.finish(experiment(server, client_levels=[1, 2]))
    assert [(run.kind, run.clients, run.state) for run in runs] == [
        ("load", 0, State.SUCCEEDED), ("measure", 1, State.SUCCEEDED), ("measure", 2, State.SUCCEEDED),
    ]  # fmt: skip
    first, second = runs[1].attempts.order_by("number")
    assert (first.outcome, second.outcome) == (State.FAILED, State.SUCCEEDED)
    assert "waits until its own is loaded" in first.reason
    assert "There is no pgbench data set" in Evidence.objects.get(attempt=first, name="err.log").text
    assert runs[2].attempts.count() == 1


@pytest.mark.whole
def test_an_experiment_of_another_scale_in_between_costs_loads_and_no_run(worker, system, experiment, cluster16):
    server = system(cluster16)
    begun = experiment(server, client_levels=[1, 2, 3])
    worker.tick()
    worker.until(lambda: begun.runs.filter(kind="measure", state=State.SUCCEEDED).count() >= 1)
    larger = Workload.objects.create(
        name="larger", tool="pgbench", parameters={**begun.workload.parameters, "scale": 2}
    )
    policy = Experiment.DataSetPolicy.BETWEEN
    urgent = experiment(server, workload=larger, priority=9, data_set_policy=policy)
    worker.finish(urgent)
    runs = worker.finish(begun)
    assert {run.state for run in [*urgent.runs.all(), *runs]} == {State.SUCCEEDED}
    assert begun.runs.filter(kind="load").count() == 2
    assert begun.runs.order_by("ended_at").last().ended_at > urgent.runs.order_by("ended_at").last().ended_at
    assert not Tenancy.objects.exclude(experiment__in=[begun, urgent]).exists()


@pytest.mark.whole
def test_a_script_with_a_mistake_is_told_by_its_line_before_any_data_set_is_loaded(
    worker, system, experiment, cluster16
):
    server = system(cluster16)
    worker.finish(experiment(server))
    scripts = [{"text": "SELECT 1;\n\\set far :scale * 2\nSELEC abalance FROM pgbench_accounts;"}]
    parameters = {"script": "custom", "scripts": scripts, "scale": 2, "query_mode": "simple"}
    workload = Workload.objects.create(name="own", tool="pgbench", parameters=parameters)
    runs = worker.finish(experiment(server, workload=workload, client_levels=[1, 2]))
    assert [(run.kind, run.state) for run in runs] == [(run.kind, State.FAILED) for run in runs]
    assert 'The check of the scripts failed: Script 1, line 3: error: syntax error at or near "SELEC"' in runs[0].reason
    assert [run.attempts.count() for run in runs] == [1, 0, 0]
    with psycopg.connect(cluster16.url) as connection:
        assert connection.execute("SELECT count(*) FROM pgbench_branches").fetchone() == (1,)
    assert DataSet.objects.get(instance=server.instance, replaced_at=None).recipe["scale"] == 1


@pytest.mark.whole
def test_a_script_with_a_mistake_is_tried_once_where_the_data_set_is_there(worker, system, experiment, cluster16):
    server = system(cluster16)
    worker.finish(experiment(server))
    parameters = {"script": "custom", "scripts": [{"text": "SELEC 1;"}], "scale": 1, "query_mode": "simple"}
    workload = Workload.objects.create(name="own", tool="pgbench", parameters=parameters)
    runs = worker.finish(experiment(server, workload=workload, client_levels=[1, 2, 3]))
    assert [(run.kind, run.state) for run in runs] == [("measure", State.FAILED)] * 3
    assert {run.reason for run in runs} == {runs[0].reason} and "Script 1, line 1" in runs[0].reason
    assert sorted(run.attempts.count() for run in runs) == [0, 0, 1]
    assert worker.finish(experiment(server))[-1].state == State.SUCCEEDED


def test_runs_whose_data_set_could_not_be_loaded_fail_and_say_so(worker, system, experiment, cluster16):
    with psycopg.connect(cluster16.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE poor LOGIN PASSWORD 'poor'")
        server = system(cluster16)
        server.instance.username = server.instance.password = "poor"
        server.instance.save()
        runs = worker.finish(experiment(server))
        connection.execute("DROP ROLE poor")
    assert [run.state for run in runs] == [State.FAILED, State.FAILED]
    assert "permission denied" in runs[0].reason or "must be owner" in runs[0].reason
    assert runs[1].reason.startswith("Its data set was not loaded")
    assert not Attempt.objects.filter(run=runs[1]).exists()
