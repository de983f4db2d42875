"""A load whose wrapper was killed, or whose folder is gone: nobody can collect it, and its heart ends it.

One whose heart was killed is ended at its deadline by who looks at it.
"""

import asyncio
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from runners import job, verdict
from runners.clusters.visit import visit
from runners.conftest import PATIENCE_S, Bench, fake_spec
from runners.contract import Cluster
from runners.job import StartOutcome
from runners.server_settings.put_back import put_back
from runners.ssh import RemoteFailure
from runners.tests.processes import (
    all_in_folder,
    end_pause,
    has_heart,
    heart,
    in_folder,
    is_alive,
    is_free,
    is_written,
    leads_session,
    pids,
    wake_heart,
)
from runners.verdict import judge

pytestmark = [pytest.mark.long, pytest.mark.target]


async def test_a_load_whose_wrapper_was_killed_is_lost_and_leaves_the_host_to_the_next(bench):
    await bench.start("setsid sh -c 'echo $$ > escaped; exec sleep 300' & sleep 300")
    await bench.until(lambda: is_written(bench.folder / "escaped"))
    await has_heart(bench)
    wrapper, command = pids(bench)
    escaped = int((bench.folder / "escaped").read_text())
    os.kill(wrapper, signal.SIGKILL)
    await until_all_ended(bench)
    assert not is_alive(command) and not is_alive(escaped)
    look = await bench.look()
    assert (look.returncode, look.lock_held) == (None, False)
    assert judge(look, suspected=True, boot_id_at_start=None).state == "lost"
    assert await bench.of(2).start("true") is StartOutcome.STARTED
    await bench.of(2).ended()


async def start_with_leftovers(bench: Bench, command: str) -> StartOutcome:
    """Start what notes in the work directory whenever the remains of an attempt are ended."""
    files = {"command.sh": command, "leftover.sh": f"echo {bench.attempt.number} >> {bench.work}/leftovers"}
    return await job.start_files(bench.connections, bench.target, bench.attempt, files, (), 0)


async def until_all_ended(bench: Bench) -> None:
    """Wait for the end of all in the folder, while the heart beats whenever it pauses."""

    def is_so() -> bool:
        end_pause(bench)
        return not in_folder(bench)

    await bench.until(is_so)


async def kill_all_but_the_heart(bench: Bench) -> int:
    """Return the heart, which is stopped: it notices nothing before the test lets it go on."""
    await has_heart(bench)
    stopped = heart(bench.folder)
    os.kill(stopped, signal.SIGSTOP)
    wrapper, command = pids(bench)
    await bench.until(lambda: leads_session(command))
    os.kill(wrapper, signal.SIGKILL)
    os.killpg(command, signal.SIGKILL)
    await bench.until(lambda: is_free(bench.folder / "lock"))
    return stopped


async def test_the_heart_of_a_killed_attempt_ends_nothing_that_may_be_of_the_next_one(bench):
    await start_with_leftovers(bench, "sleep 300")
    stopped = await kill_all_but_the_heart(bench)
    assert await start_with_leftovers(bench.of(2), "sleep 300") is StartOutcome.STARTED
    os.kill(stopped, signal.SIGCONT)
    await until_all_ended(bench)
    assert not (bench.work / "leftovers").exists()
    assert (await bench.of(2).look()).lock_held
    await bench.of(2).cancel()
    assert (await bench.of(2).look()).returncode == 128 + signal.SIGTERM


async def test_the_heart_of_a_killed_attempt_ends_its_leftovers_where_nothing_else_has_begun(bench):
    await start_with_leftovers(bench, "sleep 300")
    os.kill(await kill_all_but_the_heart(bench), signal.SIGCONT)
    await until_all_ended(bench)
    assert (bench.work / "leftovers").read_text() == "1\n"


async def test_a_cancel_of_a_killed_attempt_ends_its_heart_as_well(bench):
    await start_with_leftovers(bench, "sleep 300")
    await kill_all_but_the_heart(bench)
    assert in_folder(bench)
    await bench.cancel()
    assert not in_folder(bench)
    assert (bench.work / "leftovers").read_text() == "1\n"


async def test_a_wrapper_that_sums_up_for_long_what_was_cancelled_keeps_no_host(bench, monkeypatch):
    monkeypatch.setattr(job, "SUMMING_UP_S", 1)
    await bench.start("truncate -s 1T big.bin; sleep 300")
    await bench.until((bench.folder / "big.bin").exists)
    await bench.cancel()
    assert not in_folder(bench)
    assert (await bench.look()).returncode is None
    assert await bench.of(2).start("true") is StartOutcome.STARTED
    await bench.of(2).ended()


async def test_a_load_whose_folder_is_deleted_is_ended_with_all_that_escaped_from_it(bench):
    await bench.start("setsid sh -c 'echo $$ > escaped; exec sleep 300' & sleep 300")
    await bench.until(lambda: is_written(bench.folder / "escaped"))
    processes = await all_in_folder(bench, 6)
    shutil.rmtree(bench.folder)
    await until_all_ended(bench)
    assert len(processes) >= 5 and not any(map(is_alive, processes))
    assert await bench.of(2).start("true") is StartOutcome.STARTED
    await bench.of(2).ended()


async def test_a_load_whose_folder_is_emptied_is_ended_as_if_the_folder_were_gone(bench):
    await bench.start("mkdir log; true > log/some; setsid sleep 300 & sleep 300")
    await bench.until((bench.folder / "log" / "some").exists)
    processes = await all_in_folder(bench, 6)
    for path in [path for path in bench.work.rglob("*") if path.is_file()]:
        path.unlink()
    await until_all_ended(bench)
    assert not any(map(is_alive, processes))
    assert len(processes) >= 5 and not (bench.folder / "started").exists()
    assert judge(await bench.look(), suspected=False, boot_id_at_start=None).state == "absent"
    assert await bench.of(2).start("true") is StartOutcome.STARTED
    await bench.of(2).ended()


# Its heart must not have ended the load before the test has come to the heart.
DEADLINE_S = 20


async def start_unguarded(bench: Bench, command: str, fault: signal.Signals) -> None:
    await bench.start(command, spec=fake_spec(deadline_s=DEADLINE_S))
    await bench.until(lambda: is_written(bench.folder / "pid") and is_written(bench.folder / "hb"))
    os.kill(heart(bench.folder), fault)


async def end_overdue(bench: Bench) -> None:
    await job.end_overdue(bench.connections, bench.target, bench.attempt, DEADLINE_S)


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_load_whose_heart_was_killed_or_stopped_is_ended_by_who_looks_after_its_deadline(
    bench, monkeypatch, fault
):
    monkeypatch.setattr(verdict, "OVERDUE_GRACE_S", 1)
    await start_unguarded(bench, "setsid sleep 300 & sleep 300", fault)
    command = pids(bench)[1]
    while not (look := await bench.look()).is_overdue(DEADLINE_S):
        assert look.lock_held and is_alive(command)
        await asyncio.sleep(0.5)
    assert look.uptime_s - look.begin_uptime_s > DEADLINE_S + 1
    await end_overdue(bench)
    await bench.acknowledge()
    await bench.until(lambda: not in_folder(bench))
    outputs = (await bench.collect()).outputs
    assert (outputs.returncode, outputs.files["overdue"].strip()) == (128 + signal.SIGTERM, b"%d" % DEADLINE_S)
    assert "unguarded" in outputs.files
    assert await bench.of(2).start("true") is StartOutcome.STARTED
    await bench.of(2).ended()
    assert "unguarded" not in (await bench.of(2).collect()).outputs.files


async def test_a_load_that_ended_in_time_without_its_heart_says_so_and_is_no_failure(bench):
    await start_unguarded(bench, "until [ -e over ]; do sleep 0.05; done", signal.SIGKILL)
    (bench.folder / "over").touch()
    assert await bench.ended()
    outputs = (await bench.collect()).outputs
    assert (outputs.returncode, "unguarded" in outputs.files, "overdue" in outputs.files) == (0, True, False)


async def test_a_wrapper_that_sums_up_is_not_ended_by_a_deadline_that_its_command_kept(bench, monkeypatch):
    monkeypatch.setattr(job, "SUMMING_UP_S", 1)
    await bench.start("truncate -s 1T big.bin", spec=fake_spec(deadline_s=600))
    await bench.until(lambda: is_written(bench.folder / "pid"))
    wrapper, command = pids(bench)
    await bench.until(lambda: not is_alive(command))
    await end_overdue(bench)
    assert is_alive(wrapper)
    assert not (bench.folder / "cancel").exists() and not (bench.folder / "overdue").exists()
    await bench.cancel()


async def test_a_wrapper_that_was_stopped_while_its_command_ended_goes_on_and_is_collected(bench):
    await bench.start("until [ -e over ]; do sleep 0.05; done; echo result", spec=fake_spec(deadline_s=600))
    await bench.until(lambda: is_written(bench.folder / "pid"))
    wrapper, command = pids(bench)
    os.kill(wrapper, signal.SIGSTOP)
    (bench.folder / "over").touch()
    await bench.until(lambda: not is_alive(command))
    await end_overdue(bench)
    assert await bench.ended()
    outputs = (await bench.collect()).outputs
    assert (outputs.returncode, outputs.stdout, "overdue" in outputs.files) == (0, b"result\n", False)


def beats(bench: Bench) -> int:
    return len((bench.folder / "hb").read_text().split())


async def test_a_load_whose_file_system_does_not_answer_for_some_beats_goes_on_and_ends_well(bench):
    await bench.start("until [ -e away.over ]; do sleep 0.05; done; echo result")
    await has_heart(bench)
    (bench.folder / "started").rename(bench.folder / "away")
    for _ in range(2):
        before = beats(bench)
        wake_heart(bench)
        await bench.until(lambda before=before: beats(bench) > before)
    (bench.folder / "away").rename(bench.folder / "started")
    (bench.folder / "away.over").touch()
    assert await bench.ended()
    collected = await bench.collect()
    assert (collected.outputs.returncode, collected.outputs.stdout) == (0, b"result\n")


def test_a_job_whose_lock_was_deleted_in_its_first_moment_keeps_to_its_deadline(tmp_path):
    for name, text in (("command.sh", "sleep 300"), ("leftover.sh", ""), ("started", "")):
        (tmp_path / name).write_text(text)
    wrapper = Path(job.__file__).parent / "target" / "job.sh"
    locks = "exec 7>> end.lock 8>> lock 9>> host.lock; rm lock host.lock"
    started = subprocess.Popen(["setsid", "sh", "-c", f"{locks}; exec sh {wrapper} . 5 1 1000 0"], cwd=tmp_path)
    try:
        started.wait(PATIENCE_S)
    finally:
        if started.poll() is None:
            os.killpg(int((tmp_path / "pid").read_text().split()[3]), signal.SIGKILL)
    assert int((tmp_path / "rc").read_text()) == 128 + signal.SIGTERM
    assert int((tmp_path / "overdue").read_text()) == 5


async def test_a_load_whose_work_directory_was_moved_goes_on_and_is_collected_once_it_is_back(bench):
    await bench.start("until [ -e over ]; do sleep 0.05; done; echo result")
    await bench.until(lambda: is_written(bench.folder / "hb"))
    moved = bench.work.with_name(f"{bench.work.name}-moved")
    bench.work.rename(moved)
    assert not await job.wait_for_end(bench.connections, bench.target, bench.attempt, timeout_s=1)
    look = await bench.look()
    assert (look.started, look.is_hidden) == (True, True)
    assert judge(look, suspected=True, boot_id_at_start=None).state == "running"
    assert await put_back(bench.connections, bench.target, str(bench.work)) == ""
    cluster = Cluster("clusters/own", "mark", "/usr/bin", "bench")
    assert not (await visit(bench.connections, bench.target, cluster, str(bench.work), "look", 5432)).is_there
    assert not bench.work.exists()  # a person would move the folder into it
    moved.rename(bench.work)
    (bench.folder / "over").touch()
    assert await bench.ended()
    assert not (await bench.look()).is_hidden
    assert (await bench.collect()).outputs.stdout == b"result\n"


@pytest.mark.parametrize("is_moved", [True, False], ids=["moved", "deleted"])
async def test_a_cancel_ends_what_runs_on_without_its_folder_and_what_escaped_from_it(bench, is_moved):
    await bench.start('setsid sh -c \'cd /; echo $$ > "$0"/escaped; exec sleep 300\' "$PWD" & sleep 300')
    await bench.until(lambda: is_written(bench.folder / "escaped"))
    processes = [*await all_in_folder(bench, 5), int((bench.folder / "escaped").read_text())]
    moved = bench.work.with_name(f"{bench.work.name}-moved")
    if is_moved:
        bench.work.rename(moved)
    else:
        shutil.rmtree(bench.work)
    await bench.cancel()
    assert len(processes) >= 6 and not any(map(is_alive, processes))
    assert await bench.start("true") is StartOutcome.TOMBSTONED
    shutil.rmtree(moved, ignore_errors=True)


async def test_a_folder_that_cannot_be_read_is_no_evidence_that_it_is_gone(bench):
    await bench.start("until [ -e over ]; do sleep 0.05; done; echo result")
    await bench.until(lambda: is_written(bench.folder / "hb"))
    runs = bench.work / "runs"
    runs.chmod(0)
    with pytest.raises(RemoteFailure, match=r"cannot be read: .*Permission denied"):
        await bench.look()
    runs.chmod(0o700)
    (bench.folder / "over").touch()
    assert await bench.ended()
    assert (await bench.collect()).outputs.stdout == b"result\n"
