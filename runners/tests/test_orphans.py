"""A load whose wrapper was killed, or whose folder is gone: nobody can collect it, and its heart ends it."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from runners import job
from runners.conftest import Bench
from runners.job import StartOutcome
from runners.tests.processes import in_folder, is_alive, is_written, pids, wake_heart

pytestmark = [pytest.mark.long, pytest.mark.target]


async def test_a_load_whose_wrapper_was_killed_is_lost_and_leaves_the_host_to_the_next(bench):
    await bench.start("setsid sh -c 'echo $$ > escaped; exec sleep 300' & sleep 300")
    await bench.until(lambda: is_written(bench.folder / "pid") and is_written(bench.folder / "escaped"))
    wrapper, command = pids(bench)
    escaped = int((bench.folder / "escaped").read_text())
    os.kill(wrapper, signal.SIGKILL)
    wake_heart(bench)
    await bench.until(lambda: not in_folder(bench))
    assert not is_alive(command) and not is_alive(escaped)
    look = await bench.look()
    assert (look.returncode, look.lock_held) == (None, False)
    assert job.verdict(look, suspected=True, boot_id_at_start=None).state == "lost"
    assert await bench.of(2).start("true") is StartOutcome.STARTED
    await bench.of(2).ended()


async def start_with_leftovers(bench: Bench, command: str) -> StartOutcome:
    """Start what notes in the work directory whenever the remains of an attempt are ended."""
    files = {"command.sh": command, "leftover.sh": f"echo {bench.attempt.number} >> {bench.work}/leftovers"}
    return await job.start_files(bench.connections, bench.target, bench.attempt, files, (), 0)


async def kill_all_but_the_heart(bench: Bench) -> None:
    await bench.until(lambda: is_written(bench.folder / "pid") and is_written(bench.folder / "hb"))
    wrapper, command = pids(bench)
    os.kill(wrapper, signal.SIGKILL)
    os.killpg(command, signal.SIGKILL)
    await bench.until(lambda: not is_alive(wrapper) and not is_alive(command))


async def test_the_heart_of_a_killed_attempt_ends_nothing_that_may_be_of_the_next_one(bench):
    await start_with_leftovers(bench, "sleep 300")
    await kill_all_but_the_heart(bench)
    assert await start_with_leftovers(bench.of(2), "sleep 300") is StartOutcome.STARTED
    wake_heart(bench)
    await bench.until(lambda: not in_folder(bench))
    assert not (bench.work / "leftovers").exists()
    assert (await bench.of(2).look()).lock_held
    await bench.of(2).cancel()
    assert (await bench.of(2).look()).returncode == 128 + signal.SIGTERM


async def test_the_heart_of_a_killed_attempt_ends_its_leftovers_where_nothing_else_has_begun(bench):
    await start_with_leftovers(bench, "sleep 300")
    await kill_all_but_the_heart(bench)
    wake_heart(bench)
    await bench.until(lambda: not in_folder(bench))
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
    await bench.until(lambda: is_written(bench.folder / "escaped") and is_written(bench.folder / "hb"))
    processes = in_folder(bench)
    shutil.rmtree(bench.folder)
    wake_heart(bench)
    await bench.until(lambda: not in_folder(bench))
    assert len(processes) >= 5 and not any(map(is_alive, processes))
    assert await bench.of(2).start("true") is StartOutcome.STARTED
    await bench.of(2).ended()


async def test_a_load_whose_file_system_does_not_answer_for_some_beats_goes_on_and_ends_well(bench):
    await bench.start("until [ -e away.over ]; do sleep 0.05; done; echo result")
    await bench.until(lambda: is_written(bench.folder / "hb"))
    (bench.folder / "started").rename(bench.folder / "away")
    for beats in (2, 3):
        wake_heart(bench)
        await bench.until(lambda beats=beats: len((bench.folder / "hb").read_text().split()) == beats)
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
    started = subprocess.Popen(["setsid", "sh", "-c", f"{locks}; exec sh {wrapper} . 1 1 1000"], cwd=tmp_path)
    try:
        started.wait(30)
    finally:
        if started.poll() is None:
            os.killpg(int((tmp_path / "pid").read_text().split()[3]), signal.SIGKILL)
    assert int((tmp_path / "rc").read_text()) == 128 + signal.SIGTERM
    assert int((tmp_path / "overdue").read_text()) == 1
