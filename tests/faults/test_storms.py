"""Faults at random moments over one another: twelve hosts, two workers, two tickers, and people who pause and resume.

KILLS chooses how many workers are killed, STORM_SEED when and what else is broken meanwhile.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest
import redis
from django.db import OperationalError, connection

from benchhub.bench.models import Experiment, Hold, Result, Run, Watch
from benchhub.bench.models.states import ACTIVE, FINAL, State
from benchhub.bench.queue import queue
from benchhub.catalog.models import Host
from benchhub.celery import app
from benchhub.embedded import proc
from benchhub.embedded.postgres import Cluster

from . import rows
from .cancels import loads_on
from .rig import Rig, Site, kill, until

pytestmark = [
    pytest.mark.target,
    pytest.mark.skipif("DATABASE_URL" in os.environ, reason="the warehouse of others is not crashed"),
]
HOSTS, RUNS_PER_HOST, LONG_S = 12, 4, 300
KILLS = int(os.environ.get("KILLS", "20"))
SEED = int(os.environ.get("STORM_SEED", "4545"))


@pytest.fixture
def warehouse(request: pytest.FixtureRequest) -> Cluster:
    return request.getfixturevalue("warehouse_cluster")


@dataclass
class Storm:
    rig: Rig
    warehouse: Cluster
    sites: list[Site]
    chance: random.Random

    def restart_warehouse(self) -> None:
        """Restart it as pg_ctl does with `-m immediate`, in the middle of whatever it does."""
        number = int((self.warehouse.data_directory / "postmaster.pid").read_text().split()[0])
        if postmaster := proc.identify(number):
            proc.send(postmaster, signal.SIGQUIT)
            proc.wait_for_end([postmaster], patience_s=30)
        connection.close()
        self.warehouse.start(self.rig.processes)

    def flush_broker(self) -> None:
        with suppress(redis.RedisError), redis.from_url(self.rig.broker.url) as broker:
            broker.flushall()

    def deliver_often(self) -> None:
        """Hand out the same tick to all workers, for the runs under way and for all that are due."""
        keys = list(Run.objects.filter(state__in=ACTIVE).values_list("pk", flat=True))
        with app.connection_for_write(self.rig.broker.url) as broker:
            for words in [{}, {"run_ids": keys}] * 4:
                app.send_task("bench.tick", kwargs=words, task_id="the-same", connection=broker)

    def freeze_sessions(self) -> None:
        """Stop the daemon of a host with all its sessions, for up to two leases."""
        daemon = self.chance.choice(self.sites).child
        assert daemon
        for process in [daemon.identity, *proc.family(daemon.identity.pid)]:
            proc.send(process, signal.SIGSTOP)
        time.sleep(self.chance.uniform(0.1, 2) * self.rig.lease_s)
        for process in [daemon.identity, *proc.family(daemon.identity.pid)]:
            proc.send(process, signal.SIGCONT)

    def pause_host(self) -> None:
        host = Host.objects.get(name=self.chance.choice(self.sites).name)
        host.pause("A person looks after it.")
        time.sleep(self.chance.uniform(0, 3))
        host.resume()

    def pause_experiment(self) -> None:
        experiment = self.chance.choice(list(Experiment.objects.order_by("pk")))
        queue.pause(experiment, "A person thinks it over.")
        time.sleep(self.chance.uniform(0, 3))
        queue.resume(Experiment.objects.get(pk=experiment.pk))

    def take_key_away(self) -> None:
        site = self.chance.choice(self.sites)
        keys = site.machine.authorized_keys.read_text()
        site.machine.authorized_keys.write_text("")
        site.proxy.drop()
        time.sleep(self.chance.uniform(0, 2) * self.rig.lease_s)
        site.machine.authorized_keys.write_text(keys)

    def faults(self) -> tuple[Callable[[], None], ...]:
        return (
            self.restart_warehouse,
            self.flush_broker,
            self.deliver_often,
            self.freeze_sessions,
            self.pause_host,
            self.pause_experiment,
            self.take_key_away,
        )


def test_workers_killed_again_and_again_while_everything_breaks_lose_and_double_nothing(rig, server, warehouse):
    chance = random.Random(SEED)
    sites = [rig.site(f"host{number}") for number in range(HOSTS)]
    runs = [(site, run) for site in sites for run in rows.queue(rows.enrol(site, server), RUNS_PER_HOST, duration_s=1)]
    storm = Storm(rig, warehouse, sites, chance)
    workers, done = {}, Counter()
    for name in ("one", "two"):
        rig.ticker(f"ticker-{name}")
        workers[name] = rig.worker(f"worker-{name}")
    for _ in range(KILLS):
        if not any(rows.state(run) not in FINAL for _, run in runs):  # more to do, as long as it is to break
            runs += [(site, run) for site in sites for run in more(site)]
        time.sleep(chance.uniform(0, 2))
        name = chance.choice(list(workers))
        kill(workers[name])
        fault = chance.choice(storm.faults())
        done[fault.__name__] += 1
        with suppress(OperationalError):  # a person would try again, too
            fault()
        connection.close()
        workers[name] = rig.worker(f"worker-{name}")
    ended = rows.until_final([run for _, run in runs])
    print(f"seed {SEED}: {KILLS} workers killed, {len(runs)} runs, {dict(done)}")
    assert Counter(run.state for run in ended) == {"succeeded": len(runs)}, [(r.state, r.reason) for r in ended]
    assert Counter(site.executions(run) for site, run in runs) == {1: len(runs)}
    assert sum(sum(site.count().values()) for site in sites) == len(runs)
    assert Result.objects.count() == len(runs)
    until(lambda: not Hold.objects.exists())


def more(site: Site) -> list[Run]:
    experiment = Experiment.objects.filter(runs__system__driver__name=site.name).first()
    assert experiment
    return rows.queue(experiment.runs.first().system, 2, duration_s=1)


def test_runs_in_every_state_are_cancelled_at_the_same_time_and_none_of_them_runs_on(rig, server):
    """Those that a worker has in hand as well: it is killed at that moment, and others take over."""
    silent, parted, loaded, idle = sites = [rig.site(f"host{number}") for number in range(4)]
    systems = [rows.enrol(site, server) for site in sites]
    silent.proxy.part()
    begun = [rows.queue(system, 2, duration_s=s) for system, s in zip(systems, (LONG_S, 2, LONG_S), strict=False)]
    (starting, _), (collecting, _), (running, _) = begun
    worker = rig.both()
    rows.until_state(collecting, "running")
    parted.proxy.part()
    until(lambda: (parted.folder(collecting) / "rc").exists())
    until(lambda: loaded.executions(running) == 1)
    for run, state in ((running, "running"), (starting, "starting"), (collecting, "running")):
        rows.until_state(run, state)
    kill(worker)
    queue.move(Run.objects.get(pk=collecting.pk), State.COLLECTING)  # as a worker does just before it is killed
    reserved, waiting = rows.queue(systems[3], 2, duration_s=LONG_S)
    assert queue.reserve() == [reserved.pk]
    runs = [*(run for two in begun for run in two), reserved, waiting]
    every = Counter(queued=4, reserved=1, starting=1, running=1, collecting=1)
    assert Counter(map(rows.state, runs)) == every
    fences = dict(Watch.objects.values_list("run", "fence"))
    assert queue.ask_to_cancel(Run.objects.all()) == len(runs)
    assert all(fence > fences[key] for key, fence in Watch.objects.values_list("run", "fence"))
    for site in (silent, parted):
        site.proxy.mend()
    rig.worker("other")
    ended = {run.pk: run for run in rows.until_final(runs, patience_s=120)}
    collected = ended.pop(collecting.pk)  # it had ended before
    assert {run.state for run in ended.values()} == {"cancelled"}, [run.reason for run in ended.values()]
    assert collected.state in ("cancelled", "succeeded"), collected.reason
    assert Result.objects.count() == (collected.state == "succeeded")
    assert [site.count() for site in (silent, idle)] == [{}, {}] and loaded.executions(running) == 1
    until(lambda: not any(loads_on(site) for site in sites))
    until(lambda: not Hold.objects.exists())
