"""Workers, jobs, servers and lines lost at each step of runs that change hosts and servers: nothing is left changed.

SEEDS says how many faults are injected (`make faults-settings SEEDS=200`), SEED which ones come first. Some hosts are
broken at a time, each with a server of its own that serves all its seeds.
"""

from __future__ import annotations

import os
import random
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from django.db import connection

from benchhub.bench.models import Hold, Run
from benchhub.catalog.models import Host
from runners.os_settings.testing import RootHelper
from tests import places
from tests.servers import new_cluster

from . import changing, rows
from .changing import Lane
from .rig import PATIENCE_S, kill, until

pytestmark = pytest.mark.target
FIRST = int(os.environ.get("SEED", "0"))
ALL = range(FIRST, FIRST + int(os.environ.get("SEEDS", "12")))
SHARE = 4  # every so many seeds is about a cluster of BenchHub's own and the operating system
KINDS = ("worker", "job", "server", "connection", "everything")
STEPS = (
    *("reserved", "starting", "running", "settings", "os_settings", "before", "applied", "held", "measure"),
    *("end", "after", "collecting"),
)
LONGEST_S = 0.5  # from the begin of a step
HOSTS = 3
TINY = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "16MB", "max_connections": "30"}


@dataclass
class Fault:
    """What is broken of a run that is under way; there is a worker in the end."""

    lane: Lane
    run: Run
    draw: random.Random
    lock: threading.Lock  # of all lanes, which have one worker

    def worker(self) -> None:
        rig = self.lane.rig
        with self.lock:
            for child in [child for child in rig.running if child.name == "worker" and child.exit_code is None]:
                kill(child)
            time.sleep(self.draw.choice((0.0, rig.lease_s)))
            rig.worker()

    def job(self) -> None:
        self.lane.victim(self.run).job()

    def server(self) -> None:
        self.lane.crash()

    def connection(self) -> None:
        """Cut it: once, or for some seconds in which nobody comes in, or in silence."""
        proxy, how = self.lane.site.proxy, self.draw.choice(("drop", "stop", "part"))
        getattr(proxy, how)()
        time.sleep(0.0 if how == "drop" else self.draw.uniform(0, 3))
        if how == "stop":
            proxy.start()
        proxy.drop()
        proxy.mend()

    def everything(self) -> None:
        """Kill whatever is there of the run on its host, and the line with it."""
        self.lane.kill_everything(self.run)
        self.lane.site.proxy.drop()


@pytest.fixture
def helper(account):
    """Return the helper as this machine's root installs it."""
    if os.geteuid() != 0:
        pytest.skip("only root may change settings of this machine")
    with places.held(places.HELPERS) as folder:
        folder.chmod(0o755)
        helper = RootHelper(folder / f"bhos{secrets.token_hex(4)}", account.username)
        yield helper
        helper.remove()


def test_after_any_fault_no_server_of_somebodys_is_left_changed(rig, request):
    rig.both()
    servers = [new_cluster(f"changed-{number}", 16, request, TINY) for number in range(HOSTS)]
    lanes = [changing.granted(rig, f"host-{number}", server) for number, server in enumerate(servers)]
    seeds, lock = [seed for seed in ALL if seed % SHARE], threading.Lock()
    shares = [seeds[number::HOSTS] for number in range(HOSTS)]
    with ThreadPoolExecutor(HOSTS) as pool:
        lines = [line for lines in pool.map(broken, lanes, shares, [lock] * HOSTS) for line in lines]
    assert lines == []
    assert not Hold.objects.exists()


def test_after_any_fault_no_operating_system_is_left_changed_and_no_cluster_running(rig, helper, server):
    """Not beside the others: whoever starts on this machine would put back what another changes."""
    rig.both()
    lane = changing.own(rig, "host-own", server, helper)
    assert broken([lane], [seed for seed in ALL if not seed % SHARE], threading.Lock()) == []
    assert not Hold.objects.exists()


def broken(lanes: list[Lane], seeds: list[int], lock: threading.Lock) -> list[str]:
    """Break a run for each seed until something is left changed; return that as a line."""
    try:
        for seed in seeds:
            draw = random.Random(seed)
            lane, kind, step = draw.choice(lanes), draw.choice(KINDS), draw.choice(STEPS)
            with lane.alone():
                before = lane.changeable
                outcome = broken_run(lane, kind, step, draw, lock)
                after = changed_back(lane, before)
            fault = f"seed {seed}, {kind} at {step} of {lane.system.label}"
            print(f"{fault}: {outcome}", flush=True)
            if after != before:
                return [f"{fault}: {before} became {after}. {outcome}"]
        return []
    finally:
        connection.close()


def broken_run(lane: Lane, kind: str, step: str, draw: random.Random, lock: threading.Lock) -> str:
    run, began = lane.queue(), time.monotonic()
    until(lambda: lane.has_come_to(run, step), event=f"{step} of {rows.doing(run)}")
    time.sleep(draw.uniform(0, LONGEST_S))  # moments within a step
    getattr(Fault(lane, run, draw, lock), kind)()
    [ended] = rows.until_final([run])
    return f"{ended.state} after {time.monotonic() - began:.1f} s, {ended.attempts.count()} attempts, {ended.reason}"


def changed_back(lane: Lane, before: tuple[object, ...]) -> tuple[object, ...]:
    """Return what the lane has once it is as before, or for good; its host has not been paused for it."""
    deadline = time.monotonic() + PATIENCE_S
    while (after := lane.changeable) != before and time.monotonic() < deadline:
        time.sleep(0.2)
    paused = Host.objects.filter(name=lane.site.name).exclude(paused_at=None).values_list("pause_reason", flat=True)
    return (*after, *paused)
