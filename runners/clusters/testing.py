"""A cluster of BenchHub's own for tests: runs on it over SSH, and what of it is alive."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import replace
from pathlib import Path

from runners import job
from runners.collection import Collected
from runners.contract import Cluster, Endpoint, RunSpec
from runners.job import Attempt, StartOutcome
from runners.probe import builds


class Driver:
    """One cluster of BenchHub's own, by the programs of another one that runs beside it."""

    def __init__(self, connections, target, daemon, foreign, folder: str = "") -> None:
        self.connections, self.target, self.foreign = connections, target, foreign
        self.work = str(daemon.work_directory / secrets.token_hex(2))
        self.folder = Path(folder or f"{self.work}/c")
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
        place = (self.connections, self.target, self.attempt())
        assert await job.start(*place, spec) is StartOutcome.STARTED
        assert await job.wait_for_end(*place, timeout_s=120)
        return await job.collect(*place, cap_bytes=1 << 24)

    @property
    def servers(self) -> list[int]:
        """Return the processes that work in the cluster's data directory."""
        return working_in(self.folder / "data")

    async def until(self, is_so) -> None:
        for _ in range(600):
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
