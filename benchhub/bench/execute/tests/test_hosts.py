"""Hosts of a run: approved or not, apart from each other, with facts of their own, and visited by people."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from benchhub.bench.execute import visits
from benchhub.bench.models import Attempt, Evidence, Hold
from benchhub.bench.models.states import State
from benchhub.bench.plan.systems import system_under_test
from benchhub.catalog.models import Host, Instance

pytestmark = [pytest.mark.long, pytest.mark.django_db, pytest.mark.target]


def test_a_server_on_another_host_is_observed_there_on_the_clock_of_the_load(
    worker, system, experiment, cluster18, host, machine
):
    instance = system(cluster18).instance
    driver = Host.objects.get(pk=host.pk)
    driver.pk, driver.name, driver.address = None, "driver", "localhost"
    driver.work_directory = f"{host.work_directory}-driver"
    driver.save()
    apart = system_under_test(instance, driver=driver, hardware=machine, path="network", label="apart")
    run = worker.finish(experiment(apart, duration_s=6, telemetry=True))[-1]
    assert run.state == State.SUCCEEDED, run.reason
    metrics = {row.metric: row.values for row in run.telemetry.all()}
    assert {"driver:cpu_user", "cpu_user", "commits", "driver:collector_cpu"} <= metrics.keys()
    # It is one and the same machine, so both saw the same of what does not jump from second to second.
    pairs = list(zip(metrics["driver:memory_available"], metrics["memory_available"], strict=True))
    samples = [pair for pair in pairs if None not in pair]
    assert samples and all(driver == pytest.approx(server, rel=0.25) for driver, server in samples)
    assert Evidence.objects.filter(attempt__run=run, name="server.telemetry.log").exists()


def test_a_changed_host_key_quarantines_the_host_and_starts_nothing(worker, system, experiment, cluster16, target):
    planned = experiment(system(cluster16))
    other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ"
    host = Host.objects.get(name="target")
    host.host_key, host.port = other, host.port
    host.save()
    worker.tick()
    host.refresh_from_db()
    assert host.trust == Host.Trust.QUARANTINED
    run = planned.runs.first()
    assert run.state == State.STARTING
    assert "approve" in run.watch.contact_error
    assert not (target.work_directory / "runs" / str(run.uuid)).exists()


def test_a_run_on_a_host_that_nobody_approved_waits_and_nothing_is_sent(worker, system, experiment, cluster16):
    planned = experiment(system(cluster16))
    Host.objects.update(trust=Host.Trust.OFFERED)
    worker.tick()
    assert [run.state for run in planned.runs.all()] == [State.QUEUED] * 2
    assert not Attempt.objects.exists()
    Host.objects.update(trust=Host.Trust.PINNED)
    assert [run.state for run in worker.finish(planned)] == [State.SUCCEEDED] * 2


@pytest.mark.whole
def test_a_server_apart_from_its_driver_is_held_and_watched_as_well(worker, system, experiment, cluster16, host):
    driven_here = system(cluster16)
    server = Host.objects.get(pk=host.pk)
    server.pk, server.name, server.address = None, "server", "localhost"
    server.save()
    Instance.objects.filter(pk=driven_here.instance_id).update(host=server)
    instance = Instance.objects.get(pk=driven_here.instance_id)
    apart = system_under_test(instance, driver=host, hardware=driven_here.hardware, path="network", label="apart")
    assert not apart.driven_locally
    planned = experiment(apart)
    worker.tick()
    assert set(Hold.objects.values_list("resource", flat=True)) >= {f"host:{host.pk}", f"host:{server.pk}"}
    run = worker.finish(planned)[-1]
    assert run.state == State.SUCCEEDED, run.reason
    assert run.found.deltas["server_host"]["cpu"]["user_share"] >= 0
    assert run.found.host.keys() == {"target", "server"}


def test_a_managed_database_needs_a_connection_only(worker, system, experiment, cluster16, host):
    on_host = system(cluster16)
    Instance.objects.filter(pk=on_host.instance_id).update(host=None)
    managed = system_under_test(
        Instance.objects.get(pk=on_host.instance_id),
        driver=host,
        hardware=on_host.hardware,
        path="network",
        label="managed",
    )
    run = worker.finish(experiment(managed))[-1]
    assert run.state == State.SUCCEEDED, run.reason
    assert run.found.host.keys() == {"target"}


@pytest.mark.whole
def test_a_host_whose_facts_are_old_is_probed_again_before_its_run(worker, system, experiment, cluster16, host):
    planned = experiment(system(cluster16))
    Host.objects.update(facts={"kernel": "an old one"}, facts_at=Now() - timedelta(hours=2))
    run = worker.finish(planned)[-1]
    assert run.found.host["target"]["kernel"] not in ("", "an old one")
    host.refresh_from_db()
    assert host.facts["builds"]


def test_people_see_a_hosts_key_approve_it_and_have_it_probed(worker, host, target):
    Host.objects.update(host_key="", trust=Host.Trust.UNKNOWN)
    host.refresh_from_db()
    host.ask(Host.Wanted.KEY)
    assert visits.visit_hosts() == 1
    host.refresh_from_db()
    assert (host.trust, host.wanted) == (Host.Trust.OFFERED, "")
    assert host.offered_host_key.split()[:2] == target.host_key.split()[:2]
    assert not host.approve("ssh-ed25519 another")
    assert host.approve(host.offered_host_key)
    host.ask(Host.Wanted.FACTS)
    visits.visit_hosts()
    host.refresh_from_db()
    assert host.trust == Host.Trust.PINNED
    assert host.facts["kernel"]
    assert visits.visit_hosts() == 0


def test_a_host_that_cannot_be_visited_says_why(worker, host):
    Host.objects.update(port=9)
    host.ask(Host.Wanted.FACTS)
    visits.visit_hosts()
    host.refresh_from_db()
    assert "127.0.0.1:9" in host.contact_error
    assert host.facts == {}
