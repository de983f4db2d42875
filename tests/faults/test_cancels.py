"""A cancel works in each state and against each fault; it ends what runs on the host, and the queue goes on."""

from __future__ import annotations

import time

import pytest

from benchhub.bench.models import Event, Run
from benchhub.bench.queue import queue
from tests.faults import rows
from tests.faults.cancels import FOREVER_S, cancel, goes_on, is_cancelled_within, under_way
from tests.faults.rig import kill, until

pytestmark = pytest.mark.target
# Commands that were under way when the line went dead end by their time-outs, which are real ones.
DEAD_LINE_S = 60


def drop(rig, site) -> None:
    site.proxy.drop()


def restart_the_daemon(rig, site) -> None:
    rig.stop_daemon(site)
    time.sleep(1)
    rig.start_daemon(site)


def kill_the_worker(rig, site) -> None:
    [worker] = [child for child in rig.running if child.name == "worker"]
    kill(worker)
    rig.worker("other")


def stop_the_broker(rig, site) -> None:
    rig.processes.stop_named(rig.broker.name)
    time.sleep(rig.lease_s / 2)
    rig.broker.start(rig.processes)


@pytest.mark.parametrize("fault", [drop, restart_the_daemon, kill_the_worker, stop_the_broker])
@pytest.mark.parametrize("is_asked_before", [True, False])
def test_a_run_under_way_is_cancelled_whatever_breaks_about_the_same_time(rig, site, system, fault, is_asked_before):
    rig.both()
    run = under_way(site, system)
    if is_asked_before:
        cancel(run)
        fault(rig, site)
    else:
        fault(rig, site)
        cancel(run)
    is_cancelled_within(run, site, 2 * rig.lease_s + 10)  # ten seconds' grace for what ends slowly
    assert site.executions(run) == 1
    goes_on(site, system)


def test_a_run_under_way_on_a_host_that_is_in_a_black_hole_is_cancelled_once_that_heals(rig, site, system):
    rig.both()
    run = under_way(site, system)
    site.proxy.part()
    cancel(run)
    time.sleep(3 * rig.lease_s)
    assert rows.state(run) == "running"
    site.proxy.mend()
    is_cancelled_within(run, site, DEAD_LINE_S + 2 * rig.lease_s)
    goes_on(site, system)


def test_a_run_under_way_on_a_host_that_takes_one_session_at_a_time_is_cancelled(rig, site, system):
    rig.stop_daemon(site)
    rig.start_daemon(site, "MaxSessions 1\n")
    rig.both()
    run = under_way(site, system)
    time.sleep(rig.lease_s)
    cancel(run)
    is_cancelled_within(run, site, 2 * rig.lease_s + 10)
    assert rows.state(run) == "cancelled"
    goes_on(site, system)


@pytest.mark.parametrize("is_line_dead", [True, False])
def test_a_run_that_is_being_started_on_a_host_that_is_away_is_cancelled_and_never_begins(
    rig, site, system, is_line_dead
):
    rig.both()
    under = rows.queue(system, duration_s=1)
    rows.until_final(under)
    (site.proxy.part if is_line_dead else site.proxy.stop)()
    [run] = rows.queue(system, duration_s=FOREVER_S)
    rows.until_state(run, "reserved", "starting")
    time.sleep(rig.lease_s)
    cancel(run)
    (site.proxy.mend if is_line_dead else site.proxy.start)()
    is_cancelled_within(run, site, (DEAD_LINE_S if is_line_dead else 0) + 2 * rig.lease_s + 10)
    assert site.executions(run) <= int(is_line_dead)
    goes_on(site, system)


def test_a_run_that_is_being_collected_from_a_host_that_is_away_ends_once(rig, site, system):
    rig.both()
    [run] = rows.queue(system, duration_s=1)
    rows.until_state(run, "running")
    site.proxy.part()
    until(lambda: (site.folder(run) / "rc").exists())
    cancel(run)
    time.sleep(rig.lease_s)
    site.proxy.mend()
    rows.until_state(run, "cancelled", "succeeded", patience_s=DEAD_LINE_S + 2 * rig.lease_s)
    assert Event.objects.filter(run=run, new_state__in=["cancelled", "succeeded", "failed", "lost"]).count() == 1
    assert hasattr(Run.objects.get(pk=run.pk), "result") == (rows.state(run) == "succeeded")
    goes_on(site, system)


def test_a_run_that_is_being_collected_is_cancelled_where_its_results_cannot_be_read(rig, site, system):
    """Its host says that it has ended, and refuses to hand over what it left."""
    rig.both()
    [run] = rows.queue(system, duration_s=2)
    rows.until_state(run, "running")
    site.proxy.stop()
    until(lambda: (site.folder(run) / "rc").exists())
    (site.folder(run) / "manifest.json").write_text("no manifest")
    site.proxy.start()
    cancel(run)
    rows.until_state(run, "cancelled", "failed", patience_s=3 * rig.lease_s + 10)
    assert not hasattr(Run.objects.get(pk=run.pk), "result")
    goes_on(site, system)


def test_a_run_whose_server_has_its_host_away_is_cancelled(rig, site, system, server):
    other = rig.site("beta")
    apart = rows.enrol_apart(site, other, server)
    rig.both()
    run = under_way(other, apart)  # its client is the one beside the server's
    other.proxy.stop()
    cancel(run)
    is_cancelled_within(run, site, 2 * rig.lease_s + 10)
    assert rows.state(run) == "cancelled"
    other.proxy.start()
    goes_on(site, system)


def test_runs_in_the_queue_are_cancelled_while_nobody_works(system):
    runs = rows.queue(system, 5, duration_s=1)
    assert queue.ask_to_cancel(Run.objects.filter(pk__in=[run.pk for run in runs])) == 5
    assert {rows.state(run) for run in runs} == {"cancelled"}
