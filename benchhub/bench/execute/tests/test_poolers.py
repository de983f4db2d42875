"""A load through a real PgBouncer, by a worker over SSH: tested, planned, measured, and not as planned."""

import pytest

from benchhub.bench.execute import inspections
from benchhub.bench.models.states import State
from benchhub.bench.plan.systems import system_under_test
from benchhub.catalog.instances.inspection import looked_at
from benchhub.catalog.models import Inspection, Instance
from runners.poolers.testing import PgBouncer

pytestmark = [pytest.mark.django_db, pytest.mark.target]


@pytest.fixture
def pooled(system, cluster16, processes):
    """Put a pooler in front of the instance, and test it as the form does."""

    def put(bouncer):
        instance = system(cluster16).instance
        instance.pooler, instance.pooler_address = Instance.Pooler.PGBOUNCER, "127.0.0.1"
        instance.pooler_port = bouncer.start(processes)
        instance.save()
        return looked(instance)

    return put


def looked(instance):
    Inspection.ask(instance, instance.host)
    assert inspections.visit_inspections() == 1
    return Instance.objects.select_related("inspection__driver", "host", "build", "configuration").get(pk=instance.pk)


def pooler_finding(instance):
    instance.inspection.instance = instance
    [finding] = [line for line in looked_at(instance.inspection) if line.name == "Pooler"]
    return finding


def test_a_load_goes_through_the_pooler_and_its_run_tells_how_that_pools(
    pooled, machine, worker, experiment, cluster16
):
    instance = pooled(PgBouncer(cluster16))
    finding = pooler_finding(instance)
    assert finding.level == "ok" and "pools by transaction, with 5 connections" in finding.text, finding
    system = system_under_test(instance, driver=instance.host, hardware=machine, path="loopback", label="pooled")
    assert system.description["pooler"]["pool_mode"] == "transaction"
    _load, run = worker.finish(experiment(system, client_levels=[16], duration_s=10))  # 16 log in one after the other
    assert run.state == State.SUCCEEDED, run.reason
    assert run.found.deltas["pg_stat_database"]["sessions"] < 16
    assert (run.found.pooler["pool_mode"], run.found.pooler["pool_size"]) == ("transaction", "5")
    assert run.found.pooler["version"] == system.description["pooler"]["version"]
    assert not [doubt for doubt in run.result.doubts if doubt["code"].startswith(("pooler", "commits"))]
    files = {row.name: row.text for row in run.attempts.get().evidence.all()}
    assert "pooler_config" in files["pooler.log"] and "auth_file" not in files["pooler.log"]
    assert cluster16.password not in "".join(files.values())


@pytest.mark.whole
def test_a_console_that_is_closed_costs_no_run_but_leaves_a_doubt(pooled, machine, worker, experiment, cluster16):
    instance = pooled(PgBouncer(cluster16, pool_mode="session", is_closed=True))
    finding = pooler_finding(instance)
    assert finding.level == "warn" and "stats_users" in finding.remedy, finding
    system = system_under_test(instance, driver=instance.host, hardware=machine, path="loopback", label="pooled")
    _load, run = worker.finish(experiment(system))
    assert run.state == State.SUCCEEDED, run.reason
    assert run.found.pooler == {}
    assert "pooler-unread" in [doubt["code"] for doubt in run.result.doubts]


def test_a_pooler_of_another_database_is_no_way_to_the_server(pooled, cluster16):
    finding = pooler_finding(pooled(PgBouncer(cluster16, database="postgres")))
    assert finding.level == "bad" and "It leads to another server or database" in finding.text, finding
