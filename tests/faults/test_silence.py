"""Processes that are frozen, or lost with their machine, in the middle of a transaction or of what they do."""

from __future__ import annotations

import time
from contextlib import contextmanager

import psycopg
import pytest

from benchhub.bench.models import Hold, Run
from benchhub.bench.queue import queue

from . import rows
from .rig import pause, until, wake_up
from .rows import locked, start_whose_answer_is_held_back, waits_for

pytestmark = pytest.mark.target
FOREVER_S = 300
GRACE_S = 10  # of a busy machine


def idle_in_transaction() -> int:
    """Count the connections to the warehouse whose process has a transaction open and says nothing."""
    with psycopg.connect(rows.warehouse_url()) as looking:
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = %s"
        return looking.execute(query, ["idle in transaction"]).fetchone()[0]


@contextmanager
def frozen_in_a_transaction_on(table, worker):
    """Stop the worker where it has just written to the table and not committed: it keeps what it has locked."""
    with locked(table):
        yield
        until(lambda: waits_for(table), event=f"nobody waits for {table}")
        pause(worker)
    until(idle_in_transaction, event="the frozen worker holds no transaction")


def cancel(run, within_s: float) -> None:
    begun_s = time.monotonic()
    assert queue.ask_to_cancel(Run.objects.filter(pk=run.pk)) == 1
    assert time.monotonic() - begun_s < within_s
    assert Run.objects.get(pk=run.pk).cancel_asked_at


def test_a_run_whose_row_a_frozen_worker_has_locked_is_cancelled(rig, site, system):
    first = rig.both()
    run = start_whose_answer_is_held_back(rig, site, system, duration_s=FOREVER_S)
    with frozen_in_a_transaction_on("bench_event", first):
        site.proxy.mend()
    cancel(run, within_s=rig.lease_s + GRACE_S)
    rig.worker("second")
    rows.until_state(run, "cancelled", patience_s=2 * rig.lease_s + GRACE_S)
    wake_up(first)
    [following] = rows.queue(system, duration_s=1)
    [ended] = rows.until_final([following])
    assert (ended.state, site.executions(following)) == ("succeeded", 1)
    assert (rows.state(run), site.executions(run)) == ("cancelled", 1)
    assert not hasattr(Run.objects.get(pk=run.pk), "result")
    assert not Hold.objects.exists()


@pytest.mark.parametrize("table", ["bench_hold", "bench_evidence"])
def test_a_worker_frozen_in_a_transaction_keeps_no_other_from_going_on(rig, site, system, ends_once, table):
    runs = rows.queue(system, 2)
    first = rig.worker("first")
    with frozen_in_a_transaction_on(table, first):
        rig.ticker()
    rig.worker("second")
    ends_once(runs)
    wake_up(first)
    ends_once(runs + rows.queue(system, 2))
    assert first.exit_code is None


def test_a_worker_that_wakes_up_without_its_connection_goes_on_by_itself(rig, site, system, ends_once):
    runs = rows.queue(system, 2)
    worker = rig.worker()
    with frozen_in_a_transaction_on("bench_evidence", worker):
        rig.ticker()
    until(lambda: not idle_in_transaction(), event="the warehouse does not end the transaction")
    assert rows.state(runs[0]) == "collecting"
    wake_up(worker)
    ends_once(runs)
    assert worker.exit_code is None


def test_a_frozen_ticker_holds_nothing_that_another_one_waits_for(rig, site, system, ends_once):
    first = rig.ticker("ticker-first")
    rig.worker()
    runs = rows.queue(system, 2)
    rows.until_state(runs[0], "running")
    pause(first)
    rig.ticker("ticker-second")
    ends_once(runs)
    wake_up(first)
    ends_once(runs + rows.queue(system, 2))
    assert first.exit_code is None
