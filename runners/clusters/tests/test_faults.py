"""Faults at any moment of a run on its own cluster: nothing is left running, half made or with half its settings.

CLUSTER_FAULTS says how many are injected (`make faults-clusters FAULTS=200`), SEED which ones.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from pathlib import Path

import psycopg
import pytest

from runners import counters, job, script
from runners.clusters.testing import working_in
from runners.contract import DataCopy
from runners.ssh import Connections

pytestmark = pytest.mark.target
FAULTS, SEED = int(os.environ.get("CLUSTER_FAULTS", "6")), int(os.environ.get("SEED", "0"))
LONGEST_S = 7.0  # a run from initdb to its stop, on a machine that has nothing else to do
SETTINGS = ({"work_mem": "5MB", "shared_buffers": "20MB"}, {"work_mem": "6MB"}, {})
COPIES = (None, DataCopy("c" * 32, keeps=True), DataCopy("c" * 32, restores=True, keeps=True))
IN_FORCE = ({"work_mem": "5120", "shared_buffers": "2560"}, {"work_mem": "6144"}, {})


def signalled(number: int) -> None:
    try:
        os.kill(number, signal.SIGKILL)
    except ProcessLookupError:
        return


class Victim:
    """An attempt under way, and the processes of it that can be killed."""

    def __init__(self, driver, attempt) -> None:
        self.driver, self.attempt = driver, attempt
        self.folder = Path(driver.work) / "runs" / attempt.run / "1"

    def numbers(self) -> tuple[int, int]:
        """Return the numbers of the wrapper and of the command; (0, 0) before they are written down."""
        file = self.folder / "pid"
        words = file.read_text().split() if file.exists() else []
        return (int(words[1]), int(words[3])) if len(words) == 5 else (0, 0)

    def command(self) -> None:
        _, command = self.numbers()
        if command and Path(f"/proc/{command}").exists():
            os.killpg(command, signal.SIGKILL)

    def wrapper(self) -> None:
        if number := self.numbers()[0]:
            signalled(number)

    def job(self) -> None:
        self.wrapper()
        self.command()

    def everything(self) -> None:
        """Kill the guard too, so that only a worker can find out."""
        for process in Path("/proc").glob("[0-9]*"):
            if place(process) == self.folder and b"guard" in command_line(process):
                signalled(int(process.name))
        self.job()

    def server(self) -> None:
        file = self.driver.folder / "data" / "postmaster.pid"
        words = file.read_text().split() if file.exists() else []
        if words and int(words[0]) in self.driver.servers:
            signalled(int(words[0]))

    def backend(self) -> None:
        if numbers := self.driver.servers:
            signalled(max(numbers))


def place(process: Path) -> Path | None:
    try:
        return (process / "cwd").resolve()
    except OSError:
        return None


def command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


KINDS = ("command", "wrapper", "job", "everything", "server", "backend", "cancel", "connection")


@pytest.mark.parametrize("seed", range(SEED, SEED + FAULTS))
async def test_after_any_fault_no_server_is_left_and_the_next_run_has_its_own_settings(driver, seed):
    draw = random.Random(seed)
    before = started_at(driver.foreign)
    await broken_run(driver, draw, KINDS[seed % len(KINDS)])
    await driver.until(lambda: driver.servers == [])

    number = draw.randrange(len(SETTINGS))
    loaded = await driver.run(await driver.spec(SETTINGS[number], IN_FORCE[number], kind="load"))
    assert loaded.outputs.returncode == 0, loaded.outputs.stderr
    outputs = (await driver.run(await driver.spec(SETTINGS[number], IN_FORCE[number], duration_s=1))).outputs
    assert outputs.returncode == 0, outputs.stderr
    settings = counters.parse_snapshot(outputs.files[script.BEFORE_FILE]).settings
    assert settings["work_mem"]["setting"] == IN_FORCE[number].get("work_mem", "4096")
    assert settings["shared_buffers"]["setting"] == IN_FORCE[number].get("shared_buffers", "16384")
    assert driver.servers == [] and not (driver.folder / "data.making").exists()
    assert started_at(driver.foreign) == before  # the server beside it was neither stopped nor started anew


async def broken_run(driver, draw, kind) -> None:
    """Run the load of a data set, with and without a copy of it, with a fault at some moment of it."""
    number, wait_s = draw.randrange(len(SETTINGS)), draw.uniform(0, LONGEST_S)
    spec = await driver.spec(
        SETTINGS[number], IN_FORCE[number], kind="load", parameters=load(draw), copy=draw.choice(COPIES)
    )
    await broken_off(driver, kind, spec, wait_s, cut_after_s=draw.uniform(0, 0.3))


async def broken_off(driver, kind, spec, wait_s, cut_after_s=0.0) -> None:
    """Run the spec, do to it what the kind of fault says after so many seconds, and see to its end as a worker does."""
    attempt = driver.attempt()
    if kind == "connection":
        await cut_start(driver, attempt, spec, cut_after_s)
    await job.start(driver.connections, driver.target, attempt, spec)
    victim = Victim(driver, attempt)
    await asyncio.sleep(wait_s)
    if kind == "cancel":
        await job.cancel(driver.connections, driver.target, attempt)
    elif kind != "connection":
        getattr(victim, kind)()
    place_ = (driver.connections, driver.target, attempt)
    await job.wait_for_end(*place_, timeout_s=120)
    await driver.until(lambda: (victim.folder / "rc").exists() or not is_alive(victim))
    if not (victim.folder / "rc").exists():
        await job.cancel(*place_)  # a worker does, which finds the attempt lost


def load(draw) -> dict[str, object]:
    return {"script": "tpcb-like", "scale": draw.choice((1, 10))}


def is_alive(victim) -> bool:
    return any(Path(f"/proc/{number}").exists() for number in victim.numbers() if number)


async def cut_start(driver, attempt, spec, wait_s) -> None:
    """Start it on a connection that is gone at some moment, with whoever asked for it."""
    connections = Connections()
    task = asyncio.create_task(job.start(connections, driver.target, attempt, spec))
    await asyncio.sleep(wait_s)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await connections.close()


def started_at(cluster) -> object:
    with psycopg.connect(cluster.url) as connection:
        assert working_in(cluster.data_directory) != []
        return connection.execute("SELECT pg_postmaster_start_time()").fetchone()
