"""The line to a host: dropped, half-open, parted for long, and another key at its end."""

from __future__ import annotations

import time

import pytest

from benchhub.bench.models import Watch
from benchhub.catalog.models import Host
from tests.faults import rows
from tests.faults.rig import until

pytestmark = pytest.mark.target


def contact_error(run) -> str:
    return Watch.objects.values_list("contact_error", flat=True).get(run=run)


def test_dropped_connections_are_made_again_and_the_job_goes_on(rig, site, system, ends_once):
    rig.both()
    runs = rows.queue(system, 2, duration_s=4)
    rows.until_state(runs[0], "running")
    for _ in range(6):
        site.proxy.drop()
        time.sleep(0.5)
    ends_once(runs)
    assert site.child.log.read_text().count("Accepted publickey") > 1


def test_a_host_that_is_parted_for_several_leases_keeps_its_run_until_there_is_evidence(rig, site, system, ends_once):
    rig.both()
    runs = rows.queue(system, 2)
    rows.until_state(runs[0], "running")
    site.proxy.stop()
    until(lambda: (site.folder(runs[0]) / "rc").exists())
    until(lambda: "refused the connection" in contact_error(runs[0]))
    time.sleep(3 * rig.lease_s)
    assert [rows.state(run) for run in runs] == ["running", "queued"]
    site.proxy.start()
    ends_once(runs)
    assert contact_error(runs[0]) == ""


def test_a_half_open_connection_is_noticed_and_nothing_runs_twice(rig, site, system, ends_once):
    """Nothing gets through and nobody hangs up: only time-outs tell. What was sent meanwhile arrives late."""
    rig.both()
    runs = rows.queue(system, 2, duration_s=3)
    rows.until_state(runs[0], "running")
    site.proxy.part()
    until(lambda: "did not answer within" in contact_error(runs[0]), patience_s=60)
    assert rows.state(runs[0]) == "running"
    site.proxy.mend()
    ends_once(runs)


def test_one_unreachable_host_keeps_no_other_waiting(rig, site, system, server):
    other_site = rig.site("beta")
    other = rows.enrol(other_site, server)
    rig.both()
    stuck = rows.queue(system, duration_s=20)
    rows.until_state(stuck[0], "running")
    site.proxy.part()
    runs = rows.queue(other, 6, duration_s=1)
    ended = rows.until_final(runs, patience_s=28)
    assert [run.state for run in ended] == ["succeeded"] * 6
    assert [other_site.executions(run) for run in runs] == [1] * 6
    assert rows.state(stuck[0]) == "running"
    assert site.executions(stuck[0]) == 1


def test_a_daemon_restarted_while_a_load_runs_changes_nothing(rig, site, system, ends_once):
    rig.both()
    runs = rows.queue(system, 2, duration_s=3)
    rows.until_state(runs[0], "running")
    rig.stop_daemon(site)
    time.sleep(1)
    rig.start_daemon(site)
    ends_once(runs)
    assert contact_error(runs[0]) == ""


def test_a_changed_host_key_stops_all_contact_until_a_person_has_decided(rig, site, system, ends_once):
    rig.both()
    runs = rows.queue(system, 2)
    rows.until_state(runs[0], "running")
    rig.stop_daemon(site)
    ours = {name: (site.machine.folder / name).read_text() for name in ("host_key", "host_key.pub")}
    for name in ours:
        (site.machine.folder / name).unlink()
    rig.start_daemon(site)
    until(lambda: Host.objects.get(name=site.name).trust == Host.Trust.QUARANTINED)
    assert "approve" in contact_error(runs[0])
    until(lambda: (site.folder(runs[0]) / "rc").exists())
    log = site.child.log.read_text()
    time.sleep(2 * rig.lease_s)
    assert [rows.state(run) for run in runs] == ["running", "queued"]
    assert "Accepted publickey" not in site.child.log.read_text().removeprefix(log)
    host = Host.objects.get(name=site.name)
    assert host.approve(host.offered_host_key)
    ends_once(runs)
