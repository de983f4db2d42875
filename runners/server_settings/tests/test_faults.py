"""Faults at any moment of a run that changes somebody's server: it has its former settings again, or nothing starts.

SERVER_FAULTS says how many are injected (`make faults-servers FAULTS=200`), SEED which ones.
"""

from __future__ import annotations

import asyncio
import os
import random
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from runners import job
from runners.clusters.testing import command_line, cut_start, is_alive, place
from runners.conftest import PATIENCE_S
from runners.server_settings.answer import LOG_FILE
from runners.server_settings.put_back import UNDER_WAY, put_back
from runners.server_settings.testing import Victim, kill_keeper
from runners.ssh import RemoteFailure
from runners.tests.patience import LONG

pytestmark = pytest.mark.target
FAULTS, SEED = int(os.environ.get("SERVER_FAULTS", "1")), int(os.environ.get("SEED", "0"))
KINDS = ("command", "job", "keeper", "server", "backend", "everything", "cancel", "connection")
LONGEST_S = 4.0  # from the start of an attempt to its end, on a machine that has nothing else to do
SETTINGS, IN_FORCE = {"work_mem": "6MB", "jit": "off"}, {"work_mem": "6144", "jit": "off"}
LARGE, LARGE_IN_FORCE = {**SETTINGS, "shared_buffers": "20MB"}, {**IN_FORCE, "shared_buffers": "2560"}


def seen(driver):
    return driver.auto_lines, [driver.value(name) for name in LARGE], driver.holder


@pytest.mark.whole
@pytest.mark.parametrize("seed", range(SEED, SEED + FAULTS))
async def test_after_any_fault_the_server_has_its_former_settings_again(driver, restarting, seed):
    draw, kind = random.Random(seed), KINDS[seed % len(KINDS)]
    server = draw.choice((driver, restarting))
    server.ask("ALTER SYSTEM SET work_mem = '3MB'")
    server.ask("SELECT pg_reload_conf()")
    before = await settled(server)
    settings = (LARGE, LARGE_IN_FORCE) if server is restarting else (SETTINGS, IN_FORCE)
    spec = await server.spec(*settings, kind="load", parameters={"script": "tpcb-like", "scale": draw.choice((1, 5))})
    place = server.place()
    await broken_off(server, place, spec, kind, draw.uniform(0, LONGEST_S))
    await server.until(lambda: not server.state.exists())
    assert seen(server) == before
    outputs = (await server.run(await server.spec(*settings, kind="load"))).outputs  # and the next run goes well
    assert outputs.returncode == 0, outputs.stderr
    assert seen(server) == before and not server.state.exists()


async def settled(driver):
    await driver.until(lambda: driver.value("work_mem") == "3MB")
    return seen(driver)


async def broken_off(driver, place, spec, kind, wait_s):
    """Start it, do to it what the kind of fault says after so many seconds, and see to its end as a worker does."""
    if kind == "connection":
        await cut_start(driver, place[2], spec, wait_s / 10)
    await job.start(*place, spec, password=driver.cluster.password)
    victim = Victim(driver, place[2])
    await asyncio.sleep(wait_s)
    if kind == "cancel":
        await job.cancel(*place)
    elif kind != "connection":
        getattr(victim, kind)()
    if kind in ("server", "backend"):
        await started_again(driver)
    await job.wait_for_end(*place, timeout_s=PATIENCE_S)
    await driver.until(lambda: (victim.folder / "rc").exists() or not is_alive(victim))
    if not (victim.folder / "rc").exists():
        await job.cancel(*place)
    while (reason := await put_back(driver.connections, driver.target, driver.work)) == UNDER_WAY:
        pass  # a restart takes its time on a busy machine
    assert reason == ""


async def started_again(driver):
    """Start the server as its owner does, once what is left of the killed one has ended, unless it comes by itself."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_answering(driver):
        with suppress(RemoteFailure):
            await pg_ctl(driver, "-l", str(driver.cluster.folder / "log"), "start")
        assert time.monotonic() < deadline, "the server did not start again"


def is_answering(driver) -> bool:
    try:
        driver.ask("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


async def begun(driver, settings, in_force):
    """Return an attempt under way once its settings are in force."""
    spec = await driver.spec(settings, in_force, kind="load", parameters=LONG)
    place = await driver.begun(spec)
    await driver.until(lambda: b"held" in driver.log(place[2]).splitlines())
    return place


async def test_a_run_whose_every_process_is_killed_is_followed_by_whoever_comes_next(driver):
    place = await begun(driver, SETTINGS, IN_FORCE)
    Victim(driver, place[2]).everything()
    assert driver.state.exists() and driver.value("work_mem") == "6MB"
    await job.cancel(*place)
    outputs = (await driver.run(await driver.spec(kind="load"))).outputs
    assert outputs.returncode == 0, outputs.stderr
    assert driver.value("work_mem") == "4MB" and driver.auto_lines == [] and not driver.state.exists()


@pytest.mark.parametrize("kind", ["server", "backend"])
async def test_a_server_that_is_killed_while_its_settings_are_changed_has_the_former_ones_once_it_is_there(
    restarting, kind
):
    before = seen(restarting)
    place = await begun(restarting, SETTINGS, IN_FORCE)
    getattr(Victim(restarting, place[2]), kind)()
    await started_again(restarting)
    assert await job.wait_for_end(*place, timeout_s=PATIENCE_S)
    while await put_back(restarting.connections, restarting.target, restarting.work) == UNDER_WAY:
        pass
    assert seen(restarting) == before and not restarting.state.exists()


@pytest.mark.whole
async def test_nothing_starts_while_the_server_is_away_and_its_settings_are_put_back_once_it_is_there(restarting):
    """Stopped by its owner in the midst of a run whose every process is killed."""
    place = await begun(restarting, SETTINGS, IN_FORCE)
    Victim(restarting, place[2]).everything()
    await job.cancel(*place)
    await pg_ctl(restarting, "-m", "fast", "stop")
    try:
        spec = await restarting.spec(kind="load")
        with pytest.raises(RemoteFailure, match=r"that an earlier run changed could not be put back: .*[Cc]onnection"):
            await job.start(*restarting.place(), spec, password=restarting.cluster.password)
        reason = await put_back(restarting.connections, restarting.target, restarting.work)
        assert "could not be put back" in reason and restarting.state.exists()
    finally:
        await pg_ctl(restarting, "-l", str(restarting.cluster.folder / "log"), "start")
    assert restarting.value("work_mem") == "6MB"
    assert await put_back(restarting.connections, restarting.target, restarting.work) == ""
    assert restarting.value("work_mem") == "4MB" and not restarting.state.exists()


async def pg_ctl(driver, *words):
    program = [str(driver.cluster.bin_directory / "pg_ctl"), "-D", str(driver.cluster.data_directory), "-w", *words]
    await driver.connections.run(
        driver.target, f"{shlex.join(program)} < /dev/null > /dev/null 2>&1", timeout_s=PATIENCE_S
    )


@pytest.mark.whole
async def test_a_keeper_that_is_killed_is_followed_by_the_shell_of_its_run_whose_locks_no_server_keeps(restarting):
    """The shell restarts the server, which would hold the host's lock for ever if it had it open."""
    before = seen(restarting)
    load = {**LONG, "init": "SELECT pg_sleep(20)"}
    place = await restarting.begun(await restarting.spec(LARGE, LARGE_IN_FORCE, kind="load", parameters=load))
    await restarting.until(lambda: b"held" in restarting.log(place[2]).splitlines())
    assert kill_keeper(restarting.folder(place[2]))
    assert await job.wait_for_end(*place, timeout_s=PATIENCE_S)
    assert seen(restarting) == before and not restarting.state.exists()
    assert (await restarting.run(await restarting.spec(kind="load"))).outputs.returncode == 0


@pytest.mark.parametrize("moment", ["before", "applied", "held"])
async def test_an_attempt_that_is_ended_politely_waits_until_all_is_back(driver, moment):
    place = await driver.begun(await driver.spec(SETTINGS, IN_FORCE, kind="load", parameters=LONG))
    await driver.until(lambda: moment.encode() in driver.log(place[2]))
    victim = Victim(driver, place[2])
    await driver.until(lambda: victim.numbers()[1])
    os.killpg(victim.numbers()[1], signal.SIGTERM)
    assert await job.wait_for_end(*place, timeout_s=PATIENCE_S)
    assert driver.value("work_mem") == "4MB" and not driver.state.exists()


def delete_the_folder(driver, folder) -> Path:
    shutil.rmtree(folder)
    return driver.state


def move_the_folders(driver, folder) -> Path:
    elsewhere = folder.parents[2] / "moved"
    elsewhere.mkdir()
    folder.parents[1].rename(elsewhere / "runs")
    return driver.state


def move_everything(driver, folder) -> Path:
    elsewhere = Path(f"{driver.work}-moved")
    Path(driver.work).rename(elsewhere)
    return elsewhere / driver.state.name


@pytest.mark.parametrize("fault", [delete_the_folder, move_the_folders, move_everything])
async def test_a_cancel_of_a_run_without_its_folder_leaves_the_keeper_and_a_restart_of_the_server_alone(
    restarting, fault
):
    """Both are stopped meanwhile, as at work for longer than the cancel waits for what it ends."""
    before = seen(restarting)
    place = await begun(restarting, SETTINGS, IN_FORCE)
    folder = restarting.folder(place[2])
    outsider = subprocess.Popen(["setsid", "sleep", "300"], cwd=folder)
    keepers = [*in_session_of_keeper(folder), outsider.pid]
    for keeper in keepers:
        os.kill(keeper, signal.SIGSTOP)
    state = fault(restarting, folder)
    await job.cancel(*place, grace_s=1)
    assert len(keepers) >= 3 and {words_of(keeper)[0] for keeper in keepers} == {"T"}
    outsider.kill()
    assert outsider.wait() == -signal.SIGKILL and restarting.value("work_mem") == "6MB"
    assert await next_start(restarting) is not job.StartOutcome.STARTED
    for keeper in keepers[:-1]:
        os.kill(keeper, signal.SIGCONT)
    await restarting.until(lambda: not state.exists())
    assert seen(restarting) == before


async def next_start(driver):
    """Return what the host answers who would change the same settings next."""
    spec = await driver.spec(SETTINGS, IN_FORCE, kind="load")
    return await job.start(*driver.place(), spec, password=driver.cluster.password)


async def test_what_nobody_has_written_down_any_more_is_not_taken_for_put_back(driver):
    """The whole work directory is deleted: its server keeps its mark, and nothing changes it again."""
    place = await begun(driver, SETTINGS, IN_FORCE)
    holder, keeper = driver.holder, keeper_of(driver.folder(place[2]))
    with (driver.folder(place[2]) / LOG_FILE).open() as log:
        shutil.rmtree(driver.work)
        await job.cancel(*place, grace_s=1)
        await driver.until(lambda: not words_of(keeper)[0])
        assert "What was written down of them is gone: deleted" in log.read()
    assert (driver.holder, driver.value("work_mem")) == (holder, "6MB")
    assert await next_start(driver) is job.StartOutcome.HELD


def in_session_of_keeper(folder):
    """Return the processes of the keeper's session, which has the attempt's lock nowhere open."""
    session = words_of(keeper_of(folder))[3]
    return [process for process in working_in(folder) if words_of(process)[3] == session]


def keeper_of(folder):
    words = b"server_settings.sh\0hold"
    return next(process for process in working_in(folder) if words in command_line(Path(f"/proc/{process}")))


def working_in(folder):
    return [int(process.name) for process in Path("/proc").glob("[0-9]*") if place(process) == folder]


def words_of(number):
    """Return what the kernel tells of a process, from its state on; no words of one that has ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return [""] * 4
