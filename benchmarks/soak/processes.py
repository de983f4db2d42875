"""Faults of BenchHub's own processes, their clocks, the broker and the warehouse."""

from __future__ import annotations

import time
from contextlib import suppress

import psycopg

from tests.faults.rig import crash, kill, pause, wake_up

from .storm import Storm

WRITERS_COME_S = 0.7  # for the worker to come to the row that is locked and wait there within its transaction


def kill_worker(storm: Storm) -> None:
    name = storm.chance.choice(list(storm.workers))
    kill(storm.workers[name])
    storm.start_worker(name)
    storm.momentary("kill_worker")


def pause_worker(storm: Storm) -> None:
    child = storm.workers[storm.chance.choice(list(storm.workers))]
    with suppress(ProcessLookupError):
        pause(child)
    storm.lasting("pause_worker", lambda: child.exit_code is None and wake_up(child), blocks=False)


def freeze_writer(storm: Storm) -> None:
    """Freeze a worker where it has written and not committed, if one writes just now."""
    from tests.faults import rows

    child = storm.workers[storm.chance.choice(list(storm.workers))]
    with suppress(psycopg.OperationalError, ProcessLookupError), rows.locked("bench_event"):
        time.sleep(WRITERS_COME_S)
        pause(child)
    storm.lasting(
        "freeze_writer", lambda: child.exit_code is None and wake_up(child), most_leases=3, timeouts_s=storm.lease_s
    )


def kill_ticker(storm: Storm) -> None:
    name = storm.chance.choice(list(storm.tickers))
    kill(storm.tickers.pop(name))
    storm.lasting("kill_ticker", lambda: storm.start_ticker(name), most_leases=1, blocks=False)


def set_clock(storm: Storm) -> None:
    """Set the clock of a worker or a ticker by two hours, and back again later."""
    process = storm.chance.choice([f"worker-{name}" for name in storm.workers] + [f"ticker-{n}" for n in storm.tickers])
    storm.set_clock(process, storm.chance.choice([2, -2]))
    storm.lasting("set_clock", lambda: storm.set_clock(process, 0), blocks=False)


def flush_broker(storm: Storm) -> None:
    import redis

    with suppress(redis.RedisError), redis.from_url(storm.rig.broker.url) as broker:
        broker.flushall()
    storm.momentary("flush_broker")


def stop_broker(storm: Storm) -> None:
    storm.rig.processes.stop_named(storm.rig.broker.name)
    storm.lasting("stop_broker", lambda: storm.rig.broker.start(storm.rig.processes))


def crash_warehouse(storm: Storm) -> None:
    crash(storm.warehouse)
    storm.lasting("crash_warehouse", lambda: storm.warehouse.start(storm.rig.processes), most_leases=1)
