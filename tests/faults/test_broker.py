"""The broker flushed, down for several leases, and gone while a run ends: it only wakes workers."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager

import pytest
import redis

from tests.faults import rows
from tests.faults.rig import kill, until

pytestmark = pytest.mark.target


def kill_broker(rig) -> None:
    with redis.from_url(rig.broker.url) as broker:
        os.kill(broker.info()["process_id"], signal.SIGKILL)


def stop_broker(rig) -> None:
    rig.processes.stop_named(rig.broker.name)


def test_a_flushed_broker_loses_no_run(rig, site, system, ends_once):
    rig.both()
    runs = rows.queue(system, 5, duration_s=1)
    flushed: list[bool] = []
    with redis.from_url(rig.broker.url) as broker:

        def flush() -> bool:
            flushed.append(bool(broker.flushall()))
            return all(rows.state(run) == "succeeded" for run in runs)

        until(flush)
    assert all(flushed) and len(flushed) > len(runs)
    ends_once(runs)


def test_a_broker_down_for_several_leases_only_delays(rig, site, system, ends_once):
    worker = rig.both()
    runs = rows.queue(system, 2)
    rows.until_state(runs[0], "running")
    rig.processes.stop_named(rig.broker.name)
    until(lambda: (site.folder(runs[0]) / "rc").exists())
    time.sleep(3 * rig.lease_s)
    assert rows.state(runs[1]) in ("queued", "reserved", "starting", "running", "collecting", "succeeded")
    rig.broker.start(rig.processes)
    ends_once(runs)
    assert worker.exit_code is None


def test_a_worker_started_while_the_broker_is_down_begins_when_it_comes(rig, site, system, ends_once):
    rig.processes.stop_named(rig.broker.name)
    runs = rows.queue(system)
    ticker = rig.ticker()
    worker = rig._celery("worker", "worker", "-P", "threads", "-c", "2", "-l", "INFO")
    until(lambda: "Cannot connect" in worker.log.read_text())
    assert site.count() == {}
    rig.broker.start(rig.processes)
    ends_once(runs)
    kill(ticker)


@pytest.mark.parametrize("end", [kill_broker, stop_broker])
def test_a_broker_that_goes_with_messages_in_hand_and_comes_back_in_mid_run_costs_no_worker(
    rig, site, system, ends_once, end
):
    worker = rig.both()
    runs = rows.queue(system, 2)
    rows.until_state(runs[0], "running")
    with rows.locked("bench_worker"):  # each tick stays in the worker's hands, where it tells of itself
        until(lambda: rows.waits_for("bench_worker"))
        end(rig)
        until(lambda: "Cannot connect" in worker.log.read_text())
    until(lambda: (site.folder(runs[0]) / "rc").exists())
    rig.broker.start(rig.processes)
    ends_once(runs)
    assert worker.exit_code is None


@contextmanager
def without_room(broker, _password):
    broker.config_set("maxmemory", 1)
    try:
        yield
    finally:
        broker.config_set("maxmemory", "64mb")


@contextmanager
def with_another_password(broker, password):
    broker.config_set("requirepass", "another")
    broker.client_kill_filter(_type="normal", skipme=True)
    try:
        yield
    finally:
        broker.config_set("requirepass", password)


@contextmanager
def as_replica(broker, _password):
    broker.execute_command("REPLICAOF", "127.0.0.1", "1")
    try:
        yield
    finally:
        broker.execute_command("REPLICAOF", "NO", "ONE")


@pytest.mark.parametrize("state", [without_room, with_another_password, as_replica])
def test_a_broker_that_takes_nothing_for_several_leases_costs_no_worker(rig, site, system, ends_once, state):
    worker = rig.both()
    runs = rows.queue(system, 2)
    rows.until_state(runs[0], "running")
    with redis.from_url(rig.broker.url) as broker, state(broker, rig.broker.password):
        until(lambda: (site.folder(runs[0]) / "rc").exists())
        time.sleep(2 * rig.lease_s)  # the fault is to last
    ends_once(runs)
    assert worker.exit_code is None


def test_a_broker_whose_lists_are_of_another_type_for_several_leases_costs_no_worker(rig, site, system, ends_once):
    worker = rig.both()
    runs = rows.queue(system, 2)
    rows.until_state(runs[0], "running")
    over_s = time.monotonic() + 3 * rig.lease_s
    with redis.from_url(rig.broker.url) as broker:
        while time.monotonic() < over_s:
            broker.flushall()
            broker.mset(dict.fromkeys(("celery", "_kombu.binding.celery", "unacked", "unacked_index"), "no list"))
            time.sleep(0.2)
        broker.flushall()
    ends_once(runs)
    assert worker.exit_code is None
