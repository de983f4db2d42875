"""The line to a host: dropped, half-open, parted for long, and another key at its end."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from cryptography.fernet import Fernet

from benchhub.bench.models import Watch
from benchhub.catalog.models import Host
from benchhub.embedded import proc
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
    ended = rows.until_final(runs)  # if each of their moves waited for a time-out of the other, it would take longer
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


def test_a_daemon_whose_sessions_stand_still_for_longer_than_the_run_is_collected_when_they_go_on(
    rig, site, system, ends_once
):
    rig.both()
    runs = rows.queue(system, 2)
    rows.until_state(runs[0], "running")
    daemon = site.child.identity
    sleepers = [daemon, *(child for child in proc.family(daemon.pid) if "sshd" in proc.command_line(child.pid)[0])]
    for sleeper in sleepers:
        os.kill(sleeper.pid, signal.SIGSTOP)
    until(lambda: (site.folder(runs[0]) / "rc").exists())
    time.sleep(3 * rig.lease_s)  # the fault is to last
    assert [rows.state(run) for run in runs] == ["running", "queued"]
    for sleeper in sleepers:
        proc.send(sleeper, signal.SIGCONT)
    ends_once(runs)


@pytest.mark.parametrize(
    "options",
    [
        "KexAlgorithms diffie-hellman-group14-sha256\nCiphers aes128-ctr\nMACs hmac-sha2-256\n",
        "KexAlgorithms curve25519-sha256\nCiphers chacha20-poly1305@openssh.com\n",
    ],
)
def test_a_daemon_replaced_by_one_of_other_algorithms_and_one_more_key_changes_nothing(
    rig, site, system, ends_once, options
):
    rig.both()
    runs = rows.queue(system, 2, duration_s=3)
    rows.until_state(runs[0], "running")
    rig.stop_daemon(site)
    rig.start_daemon(site, f"HostKey {new_key(rig, site)}\n{options}")
    ends_once(runs)
    assert Host.objects.get(name=site.name).trust == Host.Trust.PINNED


def test_an_account_whose_key_is_taken_away_under_a_load_is_collected_when_it_is_back(rig, site, system, ends_once):
    rig.both()
    runs = rows.queue(system, 2)
    rows.until_state(runs[0], "running")
    keys = site.machine.authorized_keys.read_text()
    site.machine.authorized_keys.write_text("")
    site.proxy.drop()
    until(lambda: (site.folder(runs[0]) / "rc").exists())
    until(lambda: "refused the log-in" in contact_error(runs[0]))
    time.sleep(2 * rig.lease_s)  # the fault is to last
    assert [rows.state(run) for run in runs] == ["running", "queued"]
    site.machine.authorized_keys.write_text(keys)
    ends_once(runs)


def test_a_key_pair_that_nobody_can_read_any_more_is_replaced_under_a_load_which_is_then_collected(
    rig, site, system, ends_once, settings
):
    rig.both()
    runs = rows.queue(system, 2, duration_s=4)
    until(lambda: rows.state(runs[0]) == "running" and site.executions(runs[0]) == 1)
    host, right = Host.objects.get(name=site.name), settings.FIELD_KEYS
    settings.FIELD_KEYS = [Fernet.generate_key().decode()]
    host.private_key = site.private_key
    host.save(update_fields=["private_key"])
    settings.FIELD_KEYS = right
    site.proxy.drop()
    until(lambda: "FIELD_KEYS" in contact_error(runs[0]) and (site.folder(runs[0]) / "rc").exists())
    host = Host.objects.get(name=site.name)
    assert host.replace_key_pair() == []
    time.sleep(2 * rig.lease_s)  # nobody has installed it yet
    assert [rows.state(run) for run in runs] == ["running", "queued"]
    site.machine.authorize(host.public_key)
    until(lambda: rows.state(runs[0]) == "succeeded")
    assert rows.state(runs[1]) == "queued"  # the host was paused, until a person resumes it
    host.resume()
    ends_once(runs)


def new_key(rig, site) -> str:
    """Make a key of the other kind that daemons have by default."""
    file = site.machine.folder / "host_key_rsa"
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "3072", "-N", "", "-f", str(file)], check=True)
    rig.account.own(file)
    return str(file)
