"""A server that is somebody's, for tests: runs that change its settings over SSH, and faults in their midst."""

from __future__ import annotations

import asyncio
import secrets
import time
from pathlib import Path
from typing import Any

import psycopg

from runners import job
from runners.clusters.testing import Victim as RunningAttempt
from runners.clusters.testing import command_line, place, signalled, working_in
from runners.collection import Collected
from runners.conftest import PATIENCE_S
from runners.contract import Endpoint, RunSpec, ServerSettings
from runners.job import Attempt, StartOutcome
from runners.probe import builds
from runners.server_settings.answer import LOG_FILE
from runners.tests.processes import until_wrapper_ended


class Driver:
    """Somebody's server on the target, and the runs that change its settings."""

    def __init__(self, connections, target, daemon, cluster, restart: tuple[str, ...] = ()) -> None:
        self.connections, self.target, self.daemon = connections, target, daemon
        self.cluster, self.restart = cluster, restart
        self.work = str(daemon.work_directory / secrets.token_hex(2))

    async def spec(self, settings=None, in_force=None, **changes: Any) -> RunSpec:
        cluster = self.cluster
        [build] = await builds(self.connections, self.target, [str(cluster.bin_directory)])
        endpoint = Endpoint("loopback", "127.0.0.1", cluster.port, cluster.database, cluster.username)
        server_settings = ServerSettings(settings, in_force or settings, self.restart) if settings is not None else None
        plan = {"parameters": {"script": "tpcb-like", "scale": 1}, "application_name": "bh-foreign", **changes}
        return RunSpec(
            "pgbench",
            build["pgbench_version"],
            build["bin_directory"],
            endpoint,
            server_settings=server_settings,
            **plan,
        )

    def place(self) -> tuple[Any, Any, Attempt]:
        return self.connections, self.target, Attempt(f"run-{secrets.token_hex(4)}", 1, self.work)

    async def begun(self, spec: RunSpec) -> tuple[Any, Any, Attempt]:
        place = self.place()
        assert await job.start(*place, spec, password=self.cluster.password) is StartOutcome.STARTED
        return place

    async def run(self, spec: RunSpec) -> Collected:
        place = await self.begun(spec)
        assert await job.wait_for_end(*place, timeout_s=PATIENCE_S)
        await until_wrapper_ended(self.folder(place[2]))
        return await job.collect(*place, cap_bytes=1 << 24)

    async def until(self, is_so) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if is_so():
                return
            await asyncio.sleep(0.1)
        raise AssertionError("it never came so far")

    @property
    def state(self) -> Path:
        return Path(self.work) / "server_settings"

    def folder(self, attempt: Attempt) -> Path:
        return Path(self.work) / "runs" / attempt.run / "1"

    def log(self, attempt: Attempt) -> bytes:
        file = self.folder(attempt) / LOG_FILE
        return file.read_bytes() if file.exists() else b""

    def ask(self, statement: str) -> Any:
        with psycopg.connect(self.cluster.url, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else None

    def value(self, name: str) -> str:
        return str(self.ask(f"SHOW {name}")[0][0])

    @property
    def holder(self) -> str | None:
        """Return who has marked the server as changed, as others read it; None where nobody has."""
        rows = self.ask("SELECT shobj_description(oid, 'pg_authid') FROM pg_roles WHERE rolname = 'benchhub_keeper'")
        return str(rows[0][0]) if rows else None

    @property
    def auto_lines(self) -> list[str]:
        """Return what ALTER SYSTEM has set, as it stands in its file."""
        file = self.cluster.data_directory / "postgresql.auto.conf"
        return sorted(line for line in file.read_text().splitlines() if line and line[0] != "#")


def kill_keeper(folder: Path) -> bool:
    """Kill whoever keeps the settings of the attempt in this folder; tell whether there was anybody."""
    keepers = [
        process
        for process in Path("/proc").glob("[0-9]*")
        if place(process) == folder and b"server_settings.sh" in command_line(process)
    ]
    for process in keepers:
        signalled(int(process.name))
    return bool(keepers)


class Victim(RunningAttempt):
    """An attempt that changes somebody's server, to be killed."""

    def keeper(self) -> None:
        kill_keeper(self.folder)

    def server(self) -> None:
        """Kill the postmaster; its owner has to start it again."""
        file = self.driver.cluster.data_directory / "postmaster.pid"
        words = file.read_text().split() if file.exists() else []
        if words and int(words[0]) in self._servers:
            signalled(int(words[0]))

    def backend(self) -> None:
        """Kill the newest process of the server, which then begins anew by itself."""
        if numbers := self._servers:
            signalled(max(numbers))

    @property
    def _servers(self) -> list[int]:
        return working_in(self.driver.cluster.data_directory)

    def everything(self) -> None:
        """Kill all at once, as a power cut does: only who comes next can put back."""
        self.wrapper()
        self.keeper()
        self.command()
        self.keeper()
