"""A real host, two real PostgreSQL builds, and experiments on them, for the tests of the warehouse's main path."""

from __future__ import annotations

import queue as queues
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from benchhub.bench.models import Experiment, Run, System
from benchhub.bench.plan.systems import system_under_test
from benchhub.catalog.models import Configuration, Hardware, Host, Instance, PgBuild, Workload
from benchhub.embedded.postgres import Cluster

from .execute import tick as execute_tick
from .execute import visits
from .plan import plan

PATIENCE_S = 240  # of a busy machine
# Of a load; it counts from before its clients log in, which takes a busy machine a second or two.
DURATION_S = 4


@dataclass
class Worker:
    """Ticks as a worker does, woken by the notices of ends; no broker in between."""

    woken: queues.Queue[int] = field(default_factory=queues.Queue)

    def tick(self, *run_ids: int) -> int:
        return execute_tick.tick(self.woken.put, run_ids)

    def until(self, is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not is_done():
            assert time.monotonic() < deadline, list(Run.objects.values("state", "reason", "watch__contact_error"))
            try:
                self.tick(self.woken.get(timeout=1))
            except queues.Empty:
                self.tick()

    def finish(self, experiment: Experiment) -> list[Run]:
        self.tick()
        self.until(lambda: all(run.is_final for run in experiment.runs.all()))
        return list(experiment.runs.for_table())


@pytest.fixture
def planner(client: Client) -> Client:
    """Return the browser of somebody who may do everything."""
    client.force_login(get_user_model().objects.create_superuser("ada"))
    return client


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture
def host(db, target) -> Host:
    return Host.objects.create(
        name="target",
        address=target.address,
        port=target.port,
        username=target.username,
        host_key=target.host_key,
        trust=Host.Trust.PINNED,
        private_key=target.private_key,
        work_directory=str(target.work_directory),
    )


@pytest.fixture
def machine(db) -> Hardware:
    return Hardware.objects.create(name="machine", sockets=2, cores_per_socket=10)


@pytest.fixture
def system(host: Host, machine: Hardware) -> Callable[[Cluster], System]:
    def make(cluster: Cluster) -> System:
        bin_directory = str(cluster.bin_directory)
        visits.probe_host(host, [bin_directory])
        configuration, _ = Configuration.objects.get_or_create(name="durable", defaults={"settings": {"fsync": "on"}})
        instance = Instance.objects.create(
            name=cluster.name,
            host=host,
            build=PgBuild.from_facts(host.build_facts(bin_directory)),
            configuration=configuration,
            address="127.0.0.1",
            port=cluster.port,
            database=cluster.database,
            username=cluster.username,
            password=cluster.password or "",
            bin_directory=bin_directory,
        )
        return system_under_test(instance, driver=host, hardware=machine, path="loopback", label=cluster.name)

    return make


# It waits most of its time: a load at full speed would take the cores from all the other tests.
UNHURRIED = """\\set aid random(1, 100000 * :scale)
\\sleep 4 ms
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""


@pytest.fixture
def workload(db) -> Workload:
    scripts = [{"text": UNHURRIED, "weight": 1}]
    parameters = {"script": "custom", "scripts": scripts, "query_mode": "simple", "scale": 1}
    return Workload.objects.create(name="unhurried", tool="pgbench", parameters=parameters)


@pytest.fixture
def experiment(workload: Workload) -> Callable[..., Experiment]:
    """Queue an experiment on systems; pgbench of the first one's build serves all."""

    def make(*systems: System, **fields: object) -> Experiment:
        client = systems[0].instance
        experiment = Experiment(
            **{
                "name": "an experiment",
                "workload": workload,
                "client_build": client.build,
                "client_bin_directory": client.bin_directory,
                "client_levels": [2],
                "duration_s": DURATION_S,
                **fields,
            }
        )
        plan.queue(experiment, list(systems))
        return experiment

    return make
