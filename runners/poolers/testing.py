"""A real PgBouncer in front of a server, for the tests; skipped where it is not installed."""

from __future__ import annotations

import secrets
import shutil
import socket
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchhub.embedded import ports
from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import Child, Processes

CONFIGURATION = """\
[databases]
* = host=127.0.0.1 port={server_port} dbname={database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/userlist.txt
pool_mode = {pool_mode}
default_pool_size = 5
stats_users = {stats_users}
"""


@dataclass(frozen=True)
class PgBouncer:
    """One pooler in front of a cluster; its console is open to the cluster's user unless it is `closed`."""

    cluster: Cluster
    pool_mode: str = "transaction"
    is_closed: bool = False
    database: str = "benchhub"

    def start(self, processes: Processes) -> int:
        """Start it, wait until it answers, and return its port. It is stopped with the other processes."""
        program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
        if program is None:
            pytest.skip("PgBouncer is not installed")
        account, name = self.cluster.account, f"pgbouncer-{secrets.token_hex(4)}"
        folder, port = self.cluster.folder.parent / name, ports.free_port()
        account.make_folder(folder)
        account.write(folder / "userlist.txt", f'"{self.cluster.username}" "{self.cluster.password}"\n')
        configuration = account.write(folder / "pgbouncer.ini", self._configuration(folder, port))
        child = processes.start(name, [program, configuration], folder=folder, account=account)
        _wait(processes, child, port)
        return port

    def _configuration(self, folder: Path, port: int) -> str:
        return CONFIGURATION.format(
            server_port=self.cluster.port,
            database=self.database,
            port=port,
            folder=folder,
            pool_mode=self.pool_mode,
            stats_users="nobody" if self.is_closed else self.cluster.username,
        )


def _wait(processes: Processes, child: Child, port: int) -> None:
    def answers() -> bool:
        with closing(socket.socket()) as connection:
            return connection.connect_ex(("127.0.0.1", port)) == 0

    processes.wait_until(answers, child, patience_s=120)
