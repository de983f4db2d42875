"""Faults of the host under test: rebooted, full, its PostgreSQL gone, processes escaped or mistaken."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
import uuid
from pathlib import Path

import psycopg
import pytest
from django.db.models.functions import Now

from benchhub.bench.models import Evidence, Experiment, Hold, Run
from benchhub.bench.queue import queue
from tests.faults import rows
from tests.faults.rig import PATIENCE_S, crash, kill, until

pytestmark = pytest.mark.target
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount, or choose process numbers")


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def pids(folder: Path) -> tuple[int, int]:
    """The wrapper's and the command's."""
    words = (folder / "pid").read_text().split()
    return int(words[1]), int(words[3])


@as_root
def test_a_reboot_loses_the_attempt_and_only_a_new_one_runs_again(rig, site, system, ends_once):
    rig.both()
    runs = rows.queue(system, 2, duration_s=20)
    rows.until_state(runs[0], "running")
    until(lambda: Run.objects.get(pk=runs[0].pk).attempts.exclude(boot_id="").exists())
    until(lambda: site.executions(runs[0]) == 1)  # a first run begins with a pilot, which is no execution
    Run.objects.filter(pk=runs[1].pk).update(cancel_asked_at=Now())
    rig.reboot(site, str(uuid.uuid4()))
    [lost, _] = rows.until_final(runs)
    assert (lost.state, site.executions(lost)) == ("lost", 1)
    assert "rebooted" in lost.reason
    assert not Run.objects.filter(pk=lost.pk, result__isnull=False).exists()
    site.behave("set -- $(echo \"$*\" | sed 's/-T 20/-T 1/')")
    assert queue.run_lost_again(lost.experiment, attempts=2) == 1
    [again, cancelled] = rows.until_final(runs)
    assert (again.state, again.attempts.count(), site.executions(again)) == ("succeeded", 2, 2)
    assert (cancelled.state, site.executions(cancelled)) == ("cancelled", 0)


@as_root
def test_a_reboot_after_the_load_had_ended_loses_nothing(rig, site, system, ends_once):
    rig.both()
    runs = rows.queue(system, 2)
    rows.until_state(runs[0], "running")
    site.proxy.stop()
    until(lambda: (site.folder(runs[0]) / "rc").exists())
    boot_id = str(uuid.uuid4())
    rig.reboot(site, boot_id)
    site.proxy.start()
    ended = ends_once(runs)
    assert ended[1].attempts.get().boot_id == boot_id


@as_root
def test_a_full_disk_fails_the_run_with_its_reason_and_the_host_goes_on(rig, site, system, ends_once):
    work = site.machine.work_directory
    size = f"size=1m,mode=0700,uid={rig.account.uid},gid={rig.account.gid}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(work)], check=True)
    try:
        rig.both()
        site.behave("head -c 3000000 /dev/zero > filler; exec >> out.log; echo some")
        full, after = rows.queue(system, 2)
        rows.until_state(full, "failed")
        site.behave(":")
        (site.folder(full) / "filler").unlink(missing_ok=True)
        ended = rows.until_final([full, after])
        assert [run.state for run in ended] == ["failed", "succeeded"], [run.reason for run in ended]
        assert "full" in ended[0].reason
        assert [site.executions(run) for run in ended] == [1, 1]
    finally:
        site.proxy.stop()
        rig.stop_daemon(site)
        subprocess.run(["umount", "-l", str(work)], check=True)


@pytest.mark.parametrize(("code", "words"), [(1, "pgbench ended with code 1"), (2, "pgbench was aborted")])
def test_a_load_generator_that_fails_fails_its_run_once_and_stops_no_other(rig, site, system, ends_once, code, words):
    rig.both()
    site.behave(f"echo 'pgbench: error: no good' >&2; exit {code}")
    [failed] = rows.queue(system)
    [ended] = ends_once([failed], "failed")
    assert words in ended.reason and "no good" in ended.reason
    site.behave(":")
    [well] = rows.until_final(rows.queue(system))
    assert (well.state, site.executions(well), site.executions(failed)) == ("succeeded", 1, 1)


def test_postgresql_crashed_under_the_load_fails_the_run_and_the_next_one_goes_well(
    rig, site, system, ends_once, server
):
    rig.both()
    crashed, after = rows.queue(system, 2, duration_s=5)
    until(lambda: site.executions(crashed))
    time.sleep(1)
    crash(server)
    server.start(rig.processes)
    ended = rows.until_final([crashed, after])
    assert [run.state for run in ended] == ["failed", "succeeded"], [run.reason for run in ended]
    assert [site.executions(run) for run in ended] == [1, 1]
    assert not hasattr(ended[0], "result")


def test_a_server_that_is_away_for_several_leases_keeps_its_runs_waiting_and_burns_none(
    rig, site, system, ends_once, server
):
    rig.both()
    crash(server)
    runs = rows.queue(system, 2, duration_s=1)
    until(lambda: runs[0].attempts.filter(outcome="failed").count() >= 2)
    assert not {rows.state(run) for run in runs} & {"failed", "lost", "succeeded"}
    assert "PostgreSQL could not be reached from the driver" in runs[0].attempts.first().reason
    time.sleep(2 * rig.lease_s)  # the fault is to last
    server.start(rig.processes)
    ended = rows.until_final(runs, patience_s=2 * rig.lease_s + PATIENCE_S)
    assert [(run.state, site.executions(run)) for run in ended] == [("succeeded", 1)] * 2, [r.reason for r in ended]
    assert not Hold.objects.exists()


@pytest.mark.parametrize(
    ("refuse", "admit"),
    [
        ('ALTER DATABASE "benchhub" RENAME TO gone', 'ALTER DATABASE gone RENAME TO "benchhub"'),
        ('ALTER DATABASE "benchhub" ALLOW_CONNECTIONS false', 'ALTER DATABASE "benchhub" ALLOW_CONNECTIONS true'),
    ],
)
def test_a_server_that_refuses_the_log_in_pauses_the_experiment_and_burns_no_run(
    rig, site, system, server, refuse, admit
):
    rig.both()
    with psycopg.connect(f"{server.url.rpartition('/')[0]}/postgres", autocommit=True) as session:
        session.execute(refuse)
        try:
            runs = rows.queue(system, 2, duration_s=1)
            until(lambda: Experiment.objects.filter(paused_at__isnull=False).exists())
        finally:
            session.execute(admit)
    experiment = Experiment.objects.get()
    assert {rows.state(run) for run in runs} == {"queued"}
    assert "PostgreSQL refused the log-in" in experiment.pause_reason and not site.count()
    assert queue.resume(experiment)
    ended = rows.until_final(runs)
    assert [(run.state, site.executions(run)) for run in ended] == [("succeeded", 1)] * 2, [r.reason for r in ended]


def test_a_load_that_ended_well_across_a_restart_of_postgresql_is_no_measurement(rig, site, system, server, ends_once):
    """The load generator says 0; the start time of the server says otherwise."""
    rig.both()
    site.behave('"$0.real" "$@"; code=$?; : > done; while [ ! -e go ]; do sleep 0.1; done; exit $code')
    (site.bin_directory / "pgbench.real").symlink_to(server.bin_directory / "pgbench")
    [run] = rows.queue(system, duration_s=1)
    until(lambda: (site.folder(run) / "done").exists())
    crash(server)
    server.start(rig.processes)
    rig.account.write(site.folder(run) / "go", "")
    [ended] = ends_once([run], "failed")
    assert "restarted" in ended.reason


def test_a_killed_job_is_lost_and_is_not_run_again_by_itself(rig, site, system):
    rig.both()
    [run] = rows.queue(system, duration_s=20)
    until(lambda: site.executions(run))
    wrapper, command = pids(site.folder(run))
    os.kill(wrapper, signal.SIGKILL)
    os.killpg(command, signal.SIGKILL)
    [ended] = rows.until_final([run])
    assert ended.state == "lost"
    time.sleep(rig.lease_s)
    assert (rows.state(run), site.executions(run)) == ("lost", 1)


def test_a_child_that_escaped_the_group_neither_spoils_the_run_nor_blocks_the_host(rig, site, system, ends_once):
    rig.both()
    site.behave("setsid sh -c 'echo $$ > escaped; exec sleep 600' &")
    runs = rows.queue(system, 2, duration_s=1)
    ended = ends_once(runs)
    for run in ended:
        until(lambda run=run: (site.folder(run) / "escaped").exists())
    assert not is_alive(int((site.folder(runs[0]) / "escaped").read_text()))


@as_root
def test_a_process_number_given_out_again_is_not_killed_for_the_job(rig, site, system):
    """The numbers of a dead job, real ones, belong to strangers when it is cancelled."""
    worker = rig.both()
    [run] = rows.queue(system, duration_s=30)
    until(lambda: site.executions(run))
    kill(worker)
    wrapper, command = pids(site.folder(run))
    os.killpg(command, signal.SIGKILL)
    os.kill(wrapper, signal.SIGKILL)
    until(lambda: not is_alive(wrapper) and not is_alive(command))
    strangers = [process_with_number(number) for number in (wrapper, command)]
    try:
        Run.objects.filter(pk=run.pk).update(cancel_asked_at=Now())
        rig.worker()
        [ended] = rows.until_final([run])
        assert ended.state == "cancelled", ended.reason
        assert [stranger.poll() for stranger in strangers] == [None, None]
    finally:
        for stranger in strangers:
            stranger.kill()


def process_with_number(number: int) -> subprocess.Popen[bytes]:
    """The kernel's choice is prepared; it may take several tries, as others fork too, and as a number stays taken
    while a session or group has it."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(number - 1))
        process = subprocess.Popen(["sleep", "120"], start_new_session=True)
        if process.pid == number:
            return process
        process.kill()
        process.wait()
    pytest.skip(f"the process number {number} could not be had again")


def test_a_cancel_that_races_the_end_gives_exactly_one_end(rig, site, system):
    rig.both()
    chance = random.Random(5)
    runs = rows.queue(system, 8, duration_s=1)
    for run in runs:
        rows.until_state(run, "running", "collecting", "succeeded")
        time.sleep(0.6 + chance.random())
        queue.ask_to_cancel(Run.objects.filter(pk=run.pk))
    ended = rows.until_final(runs)
    assert {run.state for run in ended} <= {"succeeded", "cancelled"}
    for run in ended:
        assert run.events.filter(new_state__in=["succeeded", "cancelled", "failed", "lost"]).count() == 1
        assert site.executions(run) <= 1
        assert hasattr(run, "result") == (run.state == "succeeded")
        assert run.state == "cancelled" or Evidence.objects.filter(attempt__run=run, name="out.log").exists()
