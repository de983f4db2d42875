"""A cluster of BenchHub's own for tests: runs on it over SSH, faults in their midst, and what of it is alive."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from runners import job
from runners.collection import Collected
from runners.conftest import PATIENCE_S
from runners.contract import Cluster, Endpoint, RunSpec
from runners.job import Attempt, StartOutcome
from runners.os_settings.testing import RootHelper
from runners.probe import builds
from runners.ssh import Connections
from runners.tests.processes import until_wrapper_ended


class Driver:
    """One cluster of BenchHub's own, by the programs of another one that runs beside it."""

    def __init__(self, connections, target, daemon, foreign, folder: str = "") -> None:
        self.connections, self.target, self.foreign = connections, target, foreign
        self.work = str(daemon.work_directory / secrets.token_hex(2))
        self.folder = Path(folder or f"{self.work}/c")
        self.helper: RootHelper | None = None
        self.cluster = Cluster(
            folder=str(self.folder),
            mark=secrets.token_hex(16),
            bin_directory=str(foreign.bin_directory),
            database="bench",
            initdb_options=(f"--username={target.username}", "--auth-local=peer", "--auth-host=reject", "--no-sync"),
        )

    async def spec(self, settings=None, in_force=None, copy=None, **changes) -> RunSpec:
        [build] = await builds(self.connections, self.target, [str(self.foreign.bin_directory)])
        in_force = in_force or settings or {}
        cluster = replace(self.cluster, settings=settings or {}, settings_in_force=in_force, copy=copy)
        endpoint = Endpoint("socket", str(self.folder), 5432, "bench", self.target.username)
        plan = {"parameters": {"script": "tpcb-like", "scale": 1}, "application_name": "bh-own", **changes}
        return RunSpec("pgbench", build["pgbench_version"], build["bin_directory"], endpoint, cluster=cluster, **plan)

    def attempt(self) -> Attempt:
        return Attempt(f"run-{secrets.token_hex(4)}", 1, self.work)

    async def run(self, spec: RunSpec) -> Collected:
        place = (self.connections, self.target, attempt := self.attempt())
        assert await job.start(*place, spec) is StartOutcome.STARTED
        assert await job.wait_for_end(*place, timeout_s=PATIENCE_S)
        await until_wrapper_ended(Path(self.work) / "runs" / attempt.run / "1")
        return await job.collect(*place, cap_bytes=1 << 24)

    @property
    def servers(self) -> list[int]:
        """Return the processes that work in the cluster's data directory."""
        return working_in(self.folder / "data")

    async def until(self, is_so) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if is_so():
                return
            await asyncio.sleep(0.1)
        raise AssertionError("it never came so far")


def working_in(folder: Path) -> list[int]:
    numbers = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve() == folder and (process / "comm").read_text().strip() == "postgres":
                numbers.append(int(process.name))
        except OSError:
            continue
    return numbers


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
            with suppress(ProcessLookupError):  # its guard may have ended it meanwhile
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

    def helper(self) -> None:
        """Kill whoever holds settings of the operating system, and go on."""
        if self.driver.helper:
            self.driver.helper.kill()

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
    await job.wait_for_end(*place_, timeout_s=PATIENCE_S)
    await driver.until(lambda: (victim.folder / "rc").exists() or not is_alive(victim))
    if not (victim.folder / "rc").exists():
        await job.cancel(*place_)  # a worker does, which finds the attempt lost


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
