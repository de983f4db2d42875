"""Clocks that are wrong, and clocks that are set while BenchHub works."""

import os
import shlex
import time
from dataclasses import replace

import pytest
from django.db import connection
from django.db.models.functions import Now

from benchhub.bench.models import Hold, Watch

from . import clocks, rows
from .rig import crash, until

pytestmark = pytest.mark.skipif(not clocks.can_be_set(), reason="there is no C compiler: install the package gcc")


@pytest.mark.parametrize("hours", [1, -1])
def test_a_target_whose_clock_is_an_hour_apart_is_measured_as_any_other(rig, server, hours):
    site = rig.site("late")
    rig.stop_daemon(site)
    wrong = clocks.settable(rig.account, site.bin_directory / "clock", hours)
    site.machine = replace(site.machine, variables=tuple(wrong.items()))
    rig.start_daemon(site)
    rig.both()
    runs = rows.queue(rows.enrol(site, server), 2)
    ended = rows.until_final(runs)
    assert [(run.state, site.executions(run)) for run in ended] == [("succeeded", 1)] * 2, [r.reason for r in ended]
    started = int((site.folder(runs[0]) / "started_epoch").read_text())
    assert abs(started - time.time() - hours * 3600) < 300


@pytest.mark.parametrize("hours", [2, -2])
def test_the_clock_of_a_target_set_by_two_hours_under_a_load_delays_nothing_and_spoils_no_series(rig, server, hours):
    site = rig.site("set")
    rig.stop_daemon(site)
    clock = site.bin_directory / "clock"
    settable = clocks.settable(rig.account, clock)
    site.machine = replace(site.machine, variables=tuple(settable.items()))
    rig.start_daemon(site)
    rig.both()
    runs = rows.queue(rows.enrol(site, server), 2, duration_s=4, telemetry=True)
    until(lambda: site.executions(runs[0]) == 1)
    time.sleep(2)  # the clock is set in the middle of the load
    clocks.set_apart(clock, hours)
    ended = rows.until_final(runs)
    assert [(run.state, site.executions(run)) for run in ended] == [("succeeded", 1)] * 2, [r.reason for r in ended]
    begun = [int((site.folder(run) / "started_epoch").read_text()) for run in runs]
    assert hours * 3600 - 60 < begun[1] - begun[0] < hours * 3600 + 180
    for run in ended:
        series = {row.metric: row.values for row in run.series.all()}
        assert {"tps", "latency_ms", "lag_ms"} <= series.keys() and run.telemetry.exists()
        assert all(len(values) in (3, 4) and None not in values for values in series.values()), series
        assert 28 < run.result.throughput < 54 and min(series["tps"]) > 0  # 40 a second were offered


@pytest.mark.parametrize("hours", [1, -1])
def test_a_worker_whose_clock_is_an_hour_apart_works_beside_one_that_is_right(rig, site, system, ends_once, hours):
    rig.ticker()
    rig.worker("wrong", **clocks.settable(rig.account, rig.folder / "clock", hours))
    runs = rows.queue(system, 2)
    ends_once(runs)
    rig.worker("right")
    more = rows.queue(system, 3, duration_s=1)
    ends_once([*runs, *more])
    assert not Watch.objects.filter(lease_until__gt=Now()).exists()


@pytest.mark.parametrize("hours", [2, -2])
def test_clocks_of_ticker_and_worker_set_by_two_hours_in_flight_delay_nothing(rig, site, system, ends_once, hours):
    clock = rig.folder / "clock"
    settable = clocks.settable(rig.account, clock)
    ticker = rig.ticker(**settable)
    rig.worker(**settable)
    (run,) = rows.queue(system)
    rows.until_state(run, "running")
    clocks.set_apart(clock, hours)
    ends_once([run])
    later = rows.queue(system, 2, duration_s=1)
    ends_once([run, *later])
    assert ticker.exit_code is None
    assert all(abs(row.ended_at.timestamp() - time.time()) < 3600 for row in type(run).objects.all())


@pytest.fixture
def warehouse_clock(rig, request):
    """A file that the clock of the warehouse is set by; the right clock comes back with another crash."""
    if "DATABASE_URL" in os.environ:
        pytest.skip("the clock of somebody's warehouse is not set")
    warehouse, folder = request.getfixturevalue("warehouse_cluster"), rig.folder / "clocked"
    rig.account.make_folder(folder)
    clock = folder / "clock"
    settable = clocks.settable(rig.account, clock)
    words = " ".join(shlex.quote(f"{name}={value}") for name, value in settable.items())
    program = f'#!/bin/sh\nexec env {words} {warehouse.bin_directory}/postgres "$@"\n'
    rig.account.write(folder / "postgres", program).chmod(0o700)
    _start_anew(rig, replace(warehouse, bin_directory=folder))
    yield clock
    _start_anew(rig, warehouse)


def _start_anew(rig, warehouse) -> None:
    crash(warehouse)
    connection.close()
    warehouse.start(rig.processes)


@pytest.mark.parametrize("hours", [2, -2])
def test_the_clock_of_the_warehouse_set_by_two_hours_in_flight_delays_nothing(
    warehouse_clock, rig, site, system, ends_once, hours
):
    rig.both()
    runs = rows.queue(system, 2, duration_s=3, rest_s=8)
    rows.until_state(runs[0], "running")
    clocks.set_apart(warehouse_clock, hours)
    rows.until_state(runs[0], "succeeded")
    clocks.set_apart(warehouse_clock, 2 * hours)  # while the host rests
    ends_once(runs)
    until(lambda: not Hold.objects.exists())
    assert not Watch.objects.filter(lease_until__gt=Now()).exists()
