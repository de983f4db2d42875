"""Loads that nobody can collect any more, as their wrapper or their folder is gone: their host ends them by itself."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from benchhub.bench.models import Hold, Watch
from benchhub.bench.queue import queue
from runners.tests.processes import wrapper_ended
from tests.faults import rows
from tests.faults.cancels import cancel, is_cancelled_within, loads_on
from tests.faults.rig import kill, until

pytestmark = pytest.mark.target
BEATS_S = 60  # two beats of 15 s, what ends slowly, and a busy machine


def kill_the_wrapper(site, run) -> None:
    """As the kernel does when memory is short; the load it waits for goes on."""
    os.kill(int((site.folder(run) / "pid").read_text().split()[1]), signal.SIGKILL)


def kill_all_but_a_child_that_escaped(site, run) -> None:
    _, wrapper, _, command, _ = (site.folder(run) / "pid").read_text().split()
    os.kill(int(wrapper), signal.SIGKILL)
    os.killpg(int(command), signal.SIGKILL)


def delete_the_folder(site, run) -> None:
    shutil.rmtree(site.folder(run))


def delete_everything(site, run) -> None:
    for path in site.machine.work_directory.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def empty_the_folder(site, run) -> None:
    for path in [path for path in site.folder(run).rglob("*") if path.is_file()]:
        path.unlink()


def empty_everything(site, run) -> None:
    for path in [path for path in site.machine.work_directory.rglob("*") if path.is_file()]:
        path.unlink()


def born(pid: str) -> str:
    """Return the shell command that prints when a process began: its number may be another's by now."""
    return f"sed 's/.*) //' /proc/{pid}/stat 2> /dev/null | cut -d ' ' -f 20"


def is_alive(witness: Path) -> str:
    """Return the shell command that makes a file where $pid, begun at $born, is at work.

    What was killed has a number until its parent, a busy one, takes note, and a state of its own: Z, or X.
    """
    state = "sed 's/.*) //' /proc/$pid/stat 2> /dev/null | cut -d ' ' -f 1"
    is_same = f'[ "$({born("$pid")})" = "$born" ]'
    return f"if {is_same}; then case $({state}) in [ZX] | '') ;; *) true > {witness} ;; esac; fi"


GONE = (delete_the_folder, delete_everything, empty_the_folder, empty_everything)
FAULTS = (kill_the_wrapper, kill_all_but_a_child_that_escaped, *GONE)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_load_that_hangs_and_cannot_be_collected_any_more_is_ended_and_the_host_goes_on(rig, site, system, fault):
    is_first = f"[ $(wc -l < {site.bin_directory}/executions) -eq 1 ]"
    first, beside = site.bin_directory / "first", site.bin_directory / "beside"
    hang = f"setsid sleep 600 & echo $$ $({born('$$')}) > {first}; while :; do sleep 0.2; done"
    site.behave(f"if {is_first}; then {hang}; else read -r pid born < {first}; {is_alive(beside)}; fi")
    rig.both()
    lost, after = rows.queue(system, 2, duration_s=1)
    rows.until_state(lost, "running")
    until(lambda: site.executions(lost) == 1)
    fault(site, lost)
    ended = rows.until_final([lost, after])
    assert [run.state for run in ended] == ["lost", "succeeded"], [run.reason for run in ended]
    assert [site.executions(run) for run in (lost, after)] == [1, 1]
    assert ("folder is gone" if fault in GONE else "was killed") in ended[0].reason
    assert not beside.exists()
    until(lambda: not loads_on(site), BEATS_S)
    until(lambda: not Hold.objects.exists())
    assert queue.run_lost_again(lost.experiment, attempts=2) == 1
    [again] = rows.until_final([lost])
    assert (again.state, again.attempts.count(), site.executions(lost)) == ("succeeded", 2, 2), again.reason


def test_a_run_that_is_killed_and_at_once_run_again_by_its_policy_is_not_ended_by_what_is_left_of_the_first(
    rig, site, system
):
    """The first attempt's heart looks again within 15 s, while the second one is under load."""
    rig.both()
    [run] = rows.queue(system, duration_s=20, attempts_if_lost=2)
    rows.until_state(run, "running")
    until(lambda: site.executions(run) == 1)
    _, wrapper, _, command, _ = (site.folder(run) / "pid").read_text().split()
    os.kill(int(wrapper), signal.SIGKILL)
    os.killpg(int(command), signal.SIGKILL)
    [ended] = rows.until_final([run])
    assert (ended.state, ended.attempts.count(), site.executions(run)) == ("succeeded", 2, 2), ended.reason


def test_a_wrapper_that_was_stopped_keeps_no_host_once_its_run_is_cancelled(rig, site, system):
    rig.both()
    stopped, after = rows.queue(system, 2, duration_s=300)
    rows.until_state(stopped, "running")
    until(lambda: site.executions(stopped) == 1)
    os.kill(int((site.folder(stopped) / "pid").read_text().split()[1]), signal.SIGSTOP)
    queue.ask_to_cancel(type(stopped).objects.filter(pk=stopped.pk))
    rows.until_state(stopped, "cancelled", patience_s=60 + 2 * rig.lease_s)
    until(lambda: site.executions(after) == 1, BEATS_S)
    queue.ask_to_cancel(type(stopped).objects.filter(pk=after.pk))
    rows.until_state(after, "cancelled", patience_s=60)
    assert [site.executions(run) for run in (stopped, after)] == [1, 1]


def contact_error(run) -> str:
    return str(Watch.objects.get(run=run).contact_error)


def until_measured(site, run) -> None:
    """Wait until the load has its connections: to make one it needs a file of its folder."""
    log = site.folder(run) / "err.log"
    until(lambda: rows.state(run) == "running" and log.exists() and b"progress:" in log.read_bytes())


def move_the_folders(rig, site, run) -> Path:
    """Return where the folder of the run is now."""
    place = site.machine.work_directory / "runs"
    elsewhere = rig.account.make_folder(place.with_name("moved")) / "runs"
    place.rename(elsewhere)
    return elsewhere / site.folder(run).relative_to(place)


def move_the_work_directory(rig, site, run) -> Path:
    del rig
    place = site.machine.work_directory
    elsewhere = place.with_name(f"{place.name}-moved")
    place.rename(elsewhere)
    return elsewhere / site.folder(run).relative_to(place)


def move_its_own_folder(rig, site, run) -> Path:
    del rig
    folder = site.folder(run)
    return folder.rename(folder.with_name("moved"))


def kill_all_that_stay(folder: Path) -> None:
    """Kill what works in the folder of a load that has ended: its witness first, which would begin another pause."""
    until(lambda: wrapper_ended(folder))
    os.kill(int((folder / "witness").read_text()), signal.SIGKILL)
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink() == folder:
                os.kill(int(process.name), signal.SIGKILL)


@pytest.fixture
def moved(rig, site, system):
    """The worker, a run under way whose folder was moved with all others, the run after it, and the folder now."""
    worker = rig.both()
    runs = rows.queue(system, 2, duration_s=40)
    until_measured(site, runs[0])
    folder = move_the_folders(rig, site, runs[0])
    until(lambda: "folder is not where it was" in contact_error(runs[0]))
    assert [rows.state(run) for run in runs] == ["running", "queued"]
    return worker, *runs, folder


@pytest.mark.parametrize("is_over", [False, True], ids=["under the load", "after it"])
@pytest.mark.parametrize("fault", [move_the_folders, move_the_work_directory, move_its_own_folder])
def test_a_load_that_ended_while_no_worker_looked_is_collected_from_where_its_folder_was_moved_to(
    rig, site, system, ends_once, fault, is_over
):
    worker = rig.both()
    runs = rows.queue(system, 2, duration_s=10, attempts_if_lost=2)
    until_measured(site, runs[0])
    kill(worker)
    ended = site.folder(runs[0]) / "rc"
    if is_over:
        until(ended.exists)
        fault(rig, site, runs[0])
    else:
        until((fault(rig, site, runs[0]) / "rc").exists)
    rig.worker()
    ends_once(runs)
    assert [site.executions(run) for run in runs] == [1, 1]


def test_a_load_that_ended_in_a_folder_to_which_nothing_leads_is_collected_once_that_is_back(
    rig, site, moved, ends_once
):
    worker, first, after, folder = moved
    kill(worker)
    until((folder / "rc").exists)
    kill_all_that_stay(folder)
    rig.worker()
    until(lambda: contact_error(first).startswith("Its load has ended"))
    time.sleep(rig.lease_s)  # several looks
    assert [rows.state(run) for run in (first, after)] == ["running", "queued"]
    place = site.machine.work_directory / "runs"
    assert not place.exists()
    folder.parent.parent.rename(place)
    until(lambda: contact_error(first) == "")
    ends_once([first, after])


def test_a_load_whose_folder_was_moved_is_cancelled_where_it_is_now(site, moved):
    _, first, after, _ = moved
    cancel(after)
    cancel(first)
    is_cancelled_within(first, site, BEATS_S)
    assert [site.executions(run) for run in (first, after)] == [1, 0]


def test_a_folder_that_cannot_be_read_for_several_leases_is_no_reason_to_lose_its_run(rig, site, system, ends_once):
    rig.both()
    runs = rows.queue(system, 2, duration_s=40)
    until_measured(site, runs[0])
    folder = site.machine.work_directory / "runs"
    folder.chmod(0)
    until(lambda: "cannot be read" in contact_error(runs[0]))
    time.sleep(3 * rig.lease_s)  # the fault is to last
    assert [rows.state(run) for run in runs] == ["running", "queued"]
    folder.chmod(0o700)
    ends_once(runs)
