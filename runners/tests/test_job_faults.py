"""What goes wrong around a job: cancelled, killed, cut off, escaped, rebooted, disk full."""

import asyncio
import multiprocessing
import os
import shutil
import signal
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from runners import job
from runners.conftest import HELD, PATIENCE_S, Bench, FakeTool, fake_spec
from runners.job import StartOutcome
from runners.ssh import Connections, RemoteFailure
from runners.tests.processes import awaited, has_heart, is_alive, is_free, is_written, pids
from runners.verdict import Look, judge

pytestmark = [pytest.mark.long, pytest.mark.target]

BOOT = Path("/proc/sys/kernel/random/boot_id")
STUBBORN = """\
sh -c 'trap "" TERM; echo $$ > stubborn; while :; do sleep 0.1; done' &
wait"""


async def test_cancel_ends_the_whole_group_and_a_child_that_ignores_term(bench):
    await bench.start(STUBBORN, password="secret")
    await bench.until(lambda: is_written(bench.folder / "stubborn"))
    stubborn = int((bench.folder / "stubborn").read_text())
    await bench.cancel(grace_s=1)
    look = await bench.look()
    assert not is_alive(stubborn)
    assert (look.lock_held, look.cancelled, look.returncode) == (False, True, 128 + signal.SIGTERM)
    assert not (bench.folder / ".pgpass").exists()
    assert await bench.of(2).start("true") is StartOutcome.STARTED
    await bench.of(2).ended()


async def test_cancel_ends_a_pilot_and_nothing_is_measured(bench):
    tool = FakeTool(pilot="sleep 300 & echo $! > pilot.pid; wait", measure="echo never")
    await job.start(bench.connections, bench.target, bench.attempt, fake_spec(), tool=tool)
    await bench.until(lambda: is_written(bench.folder / "pilot.pid"))
    pilot = int((bench.folder / "pilot.pid").read_text())
    await bench.cancel(grace_s=1)
    look = await bench.look()
    assert not is_alive(pilot)
    assert (look.lock_held, look.cancelled, look.step, look.out_size) == (False, True, "pilot", 0)


# Held back until it is told to go on, as on a machine where it is not scheduled.
SLOW_SETSID = """\
#!/bin/sh
until [ -e released ]; do sleep 0.05; done
exec {setsid} "$@"
"""


def test_a_cancel_ends_a_load_that_leads_no_session_of_its_own_yet(tmp_path):
    """The wrapper has written down whom it waits for, and that is not yet signalled as a session."""
    attempt = job.Attempt("run", 1, str(tmp_path))
    folder = tmp_path / "runs" / "run" / "1"
    folder.mkdir(parents=True)
    for name, text in (("command.sh", "true > begun"), ("leftover.sh", ""), ("started", BOOT.read_text())):
        (folder / name).write_text(text)
    slow = tmp_path / "setsid"
    slow.write_text(SLOW_SETSID.format(setsid=shutil.which("setsid")))
    slow.chmod(0o755)
    locks = "exec 7>> end.lock 8>> lock 9>> host.lock"
    command = f"{locks}; exec sh {job.SCRIPTS / 'job.sh'} {folder} 0 1 1000000 0"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    wrapper = subprocess.Popen(["sh", "-c", command], cwd=folder, env=environment, start_new_session=True)
    awaited(lambda: is_written(folder / "pid") or None, "the wrapper writes nothing down")
    values = {"grace": 1, "summing_up": round(PATIENCE_S), "withdrawn": ""}
    cancel = job.attempt_script("processes.sh", attempt, "cancel.sh", **values)
    subprocess.run(["sh", "-c", cancel], check=True)
    (folder / "released").touch()
    wrapper.wait(PATIENCE_S)
    assert (folder / "rc").read_text().strip() == str(128 + signal.SIGTERM)
    assert not (folder / "begun").exists()


async def test_cancel_before_the_start_forbids_it(bench):
    await bench.cancel()
    assert await bench.start("true") is StartOutcome.TOMBSTONED
    assert bench.executions() == []
    look = await bench.look()
    assert (look.started, look.cancelled) == (False, True)
    assert await bench.of(2).start("true") is StartOutcome.STARTED
    await bench.of(2).ended()


async def test_what_benchhub_itself_took_back_is_told_from_what_a_person_cancelled(bench):
    await bench.cancel(is_withdrawn=True)
    assert await bench.start("true") is StartOutcome.WITHDRAWN
    await bench.cancel()
    await bench.cancel(is_withdrawn=True)
    assert await bench.start("true") is StartOutcome.TOMBSTONED
    assert bench.executions() == []


async def test_nothing_is_started_where_a_program_is_gone_or_cannot_run(bench, work):
    folder = work.parent / f"{work.name}-programs"
    folder.mkdir()
    program, spec = folder / "fake", replace(fake_spec(), bin_directory=str(folder))
    place = (bench.connections, bench.target, bench.attempt, spec)
    # The run's PATH begins with the folder, so a name that only lies there is known as well.
    tool = FakeTool(measure=f"echo 1 >> {bench.work}/count", in_folder=("fake",), on_path=("env", "fake"))
    for text, words in (("", "not found"), ("echo no library >&2; exit 127", "no library")):
        if text:
            program.write_text(f"#!/bin/sh\n{text}\n")
            program.chmod(0o755)
        with pytest.raises(RemoteFailure, match=f"{program} does not run there .*{words}.*install it") as failure:
            await job.start(*place, tool=tool)
        assert failure.value.returncode == 3
        assert not (await bench.look()).started
    program.write_text("#!/bin/sh\n")
    assert await job.start(*place, tool=tool) is StartOutcome.STARTED
    assert await bench.ended()
    assert bench.executions() == ["1"]


async def test_cancel_after_the_end_changes_nothing(bench):
    await bench.start("echo result")
    await bench.ended()
    await bench.cancel()
    look = await bench.look()
    assert (look.returncode, look.cancelled) == (0, True)
    assert judge(look, suspected=False, boot_id_at_start=None).state == "finished"
    assert (await bench.collect()).outputs.stdout == b"result\n"


async def test_cancel_racing_the_end_leaves_exactly_one_exit_code_and_whole_evidence(bench):
    for number in range(1, 7):
        racing = bench.of(number)
        await racing.start("sleep 0.1; echo result")
        # Where no number is written down in time, all that has the lock is ended, the wrapper with it.
        await racing.until(lambda racing=racing: is_written(racing.folder / "pid"))
        await asyncio.sleep(0.03 * number)
        await racing.cancel()
        look, collected = await racing.look(), await racing.collect()
        assert look.returncode in (0, 128 + signal.SIGTERM)
        assert collected.outputs.returncode == look.returncode == collected.manifest["returncode"]
        assert collected.remarks == {}
        await racing.cancel()
        assert (await racing.look()).returncode == look.returncode


async def test_cancel_and_start_at_once_end_in_one_of_two_ways(bench):
    for number in range(1, 6):
        attempt = bench.of(number)
        outcome, _ = await asyncio.gather(attempt.start("sleep 300"), attempt.cancel())
        await attempt.cancel()
        look = await attempt.look()
        assert look.started == (outcome is StartOutcome.STARTED)
        assert not look.lock_held
        assert outcome in (StartOutcome.STARTED, StartOutcome.TOMBSTONED)


async def test_cancel_cut_off_half_way_is_finished_by_the_next_one(bench):
    await bench.start(STUBBORN)
    await bench.until(lambda: is_written(bench.folder / "stubborn"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await bench.cancel(grace_s=300)
    stubborn = int((bench.folder / "stubborn").read_text())
    assert is_alive(stubborn)
    await bench.cancel(grace_s=0)
    assert not is_alive(stubborn)
    assert not (await bench.look()).lock_held


async def test_a_number_that_now_belongs_to_another_process_is_not_signalled(bench):
    """The wrapper and its command are gone, and the number in the file is a stranger's."""
    stranger = subprocess.Popen(["sleep", "300"], start_new_session=True)
    try:
        await bench.start("sleep 300")
        await bench.until(lambda: is_written(bench.folder / "pid"))
        for pid in pids(bench):
            os.kill(pid, signal.SIGKILL)
        boot, wrapper, start, _, _ = (bench.folder / "pid").read_text().split()
        (bench.folder / "pid").write_text(f"{boot} {wrapper} {start} {stranger.pid} {int(start) - 5}\n")
        await bench.cancel(grace_s=1)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


# --- what survives what -------------------------------------------------------------------------------------


def _start_and_die_waiting(bench: Bench, command: str) -> None:
    """In a process of its own: a worker that starts an attempt and is killed while it waits for the end."""
    worker = replace(bench, connections=Connections())

    async def work() -> None:
        await worker.start(command)
        await worker.ended()

    asyncio.run(work())


async def test_a_job_outlives_the_worker_that_started_it_and_is_found_by_another(bench):
    context = multiprocessing.get_context("spawn")
    arguments = (replace(bench, connections=None), f"{HELD}; echo result")
    worker = context.Process(target=_start_and_die_waiting, args=arguments)
    worker.start()
    await bench.until(lambda: bench.executions() == ["1"])
    worker.kill()
    worker.join()
    assert await bench.start("echo never") is StartOutcome.ALREADY_STARTED
    assert (await bench.look()).lock_held
    bench.release()
    assert await bench.ended()
    assert (await bench.collect()).outputs.stdout == b"result\n"
    assert bench.executions() == ["1"]


async def test_a_killed_job_is_lost_only_when_seen_twice(bench):
    await bench.start("sleep 300", password="secret")
    await bench.until(lambda: is_written(bench.folder / "pid") and bench.executions() == ["1"])
    wrapper, command = pids(bench)
    os.kill(wrapper, signal.SIGKILL)
    os.killpg(command, signal.SIGKILL)
    await bench.until(lambda: is_free(bench.folder / "lock"))
    assert await bench.ended()
    first = judge(await bench.look(), suspected=False, boot_id_at_start=None)
    assert (first.state, first.suspected) == ("running", True)
    second = judge(await bench.look(), suspected=first.suspected, boot_id_at_start=None)
    assert second.state == "lost" and "killed" in second.reason
    await bench.cancel()
    assert not (bench.folder / ".pgpass").exists()
    assert bench.executions() == ["1"]


async def test_a_child_that_left_the_session_keeps_the_host_busy_until_it_is_cancelled(bench):
    escape = "setsid sh -c 'echo $$ > escaped; exec sleep 300' &"
    await bench.start(f"{escape} until [ -s escaped ]; do sleep 0.05; done; echo result")
    assert await bench.ended()
    look = await bench.look()
    assert (look.returncode, look.lock_held) == (0, True)
    assert judge(look, suspected=False, boot_id_at_start=None).state == "finished"
    assert await bench.of(2).start("true") is StartOutcome.BUSY
    await bench.cancel(grace_s=1)
    assert not is_alive(int((bench.folder / "escaped").read_text()))
    assert (await bench.look()).returncode == 0
    assert await bench.of(2).start("true") is StartOutcome.STARTED
    await bench.of(2).ended()


async def test_nothing_of_a_job_is_left_after_it_once_it_is_acknowledged(bench):
    await bench.start("sleep 0.1")
    await bench.ended()
    await bench.acknowledge()
    await bench.until(lambda: _commands_in(bench.folder) == [])
    assert (await bench.look()).lock_held is False


def _commands_in(folder: Path) -> list[list[bytes]]:
    """Return the words of what works in the folder, but for the heart's sleep between two beats."""
    commands = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder:
                commands.append((process / "cmdline").read_bytes().split(b"\0")[:2])
        except OSError:
            continue
    return [words for words in commands if words[0] != b"sleep"]


async def test_a_full_disk_still_leaves_an_exit_code_and_says_so_and_the_clean_up_makes_room(bench, login):
    if not login.is_scratch:
        pytest.skip("only root can mount a small file system")
    bench.work.mkdir()
    options = ["-t", "tmpfs", "-o", "size=2m,mode=0777", "tmpfs", str(bench.work)]
    if subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        pytest.skip("this machine mounts nothing")
    try:
        await bench.start(f"{HELD}; head -c 3000000 /dev/zero")
        await has_heart(bench)  # which would end what prints so much, and looks again in 15 seconds
        bench.release()
        assert await bench.ended()
        collected = await bench.collect()
        assert collected.outputs.returncode == 1
        assert "full" in collected.remarks["manifest.json"]
        assert bench.executions() == ["1"]
        with suppress(OSError):
            (bench.work / "rest").write_bytes(bytes(2 << 20))
        await bench.acknowledge()
        assert not (bench.folder / "out.log").exists() and (await bench.look()).acknowledged
        assert (bench.work / "ledger").read_text().startswith(f"{bench.attempt.run} 1 1 ")
    finally:
        subprocess.run(["umount", "-l", str(bench.work)], check=True)


async def test_a_start_that_cannot_write_says_why_and_starts_nothing(bench):
    bench.work.mkdir()
    bench.work.chmod(0o555)
    with pytest.raises(RemoteFailure, match="Permission denied"):
        await bench.start("true")
    assert list(bench.work.iterdir()) == []


# --- verdicts, by hand --------------------------------------------------------------------------------------

ALIVE = Look("boot", 100.0, True, True, None, "measure", 99.0, 0, 0, False, False, "boot", "r 1", b"")


@pytest.mark.parametrize(
    ("changes", "suspected", "expected"),
    [
        ({}, False, "running"),
        ({}, True, "running"),
        ({"lock_held": False}, False, "running"),
        ({"lock_held": False}, True, "lost"),
        ({"lock_held": False, "returncode": 0}, True, "finished"),
        ({"returncode": 2}, False, "finished"),
        ({"returncode": 0, "boot_id": "next"}, False, "finished"),
        ({"boot_id": "next", "lock_held": False}, False, "lost"),
        ({"cancelled": True}, False, "running"),
        ({"started": False, "lock_held": False, "boot_id_at_start": None}, True, "absent"),
        ({"started": False, "lock_held": False, "acknowledged": True}, False, "lost"),
        ({"is_hidden": True}, False, "running"),
        ({"is_hidden": True, "lock_held": False, "returncode": 0}, False, "finished"),
        ({"is_hidden": True, "lock_held": False}, True, "lost"),
    ],
)
def test_the_verdict_follows_the_evidence(changes, suspected, expected):
    verdict = judge(replace(ALIVE, **changes), suspected=suspected, boot_id_at_start=None)
    assert verdict.state == expected
    assert bool(verdict.reason) == (expected in ("lost", "absent"))


def test_only_a_free_lock_without_an_exit_code_is_suspect():
    assert judge(replace(ALIVE, lock_held=False), suspected=False, boot_id_at_start=None).suspected
    assert not judge(ALIVE, suspected=True, boot_id_at_start=None).suspected


def test_the_boot_that_the_warehouse_noted_outweighs_the_targets():
    assert judge(ALIVE, suspected=False, boot_id_at_start="another").state == "lost"


@pytest.mark.parametrize(
    ("changes", "deadline_s", "expected"),
    [
        ({"uptime_s": 190.5}, 60, True),
        ({"uptime_s": 188.5}, 60, False),
        ({"uptime_s": 9e9}, 0, False),
        ({"uptime_s": 190.5, "lock_held": False}, 60, False),
        ({"uptime_s": 190.5, "returncode": 0}, 60, False),
        ({"uptime_s": 190.5, "begin_uptime_s": None}, 60, False),
    ],
    ids=["over", "within the grace", "no deadline", "not alive", "ended", "begin not written down"],
)
def test_a_command_is_overdue_half_a_minute_after_its_deadline_by_the_clock_of_its_host_alone(
    changes, deadline_s, expected
):
    assert replace(ALIVE, **changes).is_overdue(deadline_s) == expected
