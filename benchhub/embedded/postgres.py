"""A PostgreSQL cluster of our own: made whole or not at all, on loopback, with a password."""

from __future__ import annotations

import secrets
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from benchhub.embedded import EmbeddedError, proc
from benchhub.embedded.account import Account
from benchhub.embedded.processes import Child, Command, Processes

# SIGINT: no new sessions, end the present ones, write a checkpoint. SIGQUIT: end at once, recover at the start.
STOP_SIGNALS = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 5.0))
SETTINGS_FILE = "benchhub.conf"
CONNECT_S = 10


@dataclass(frozen=True)
class Cluster:
    """One data directory under `folder` and the server on it.

    `name` names the process and its log. `settings` are written at every start, over what initdb chose.
    `is_scratch` leaves out what makes initdb safe against a power cut: for tests.
    """

    name: str
    folder: Path
    bin_directory: Path
    port: int
    account: Account
    database: str = "benchhub"
    username: str = "benchhub"
    settings: Mapping[str, str] = field(default_factory=dict)
    is_scratch: bool = False

    @property
    def data_directory(self) -> Path:
        return self.folder / "data"

    @property
    def exists(self) -> bool:
        return self.data_directory.exists()

    @property
    def password(self) -> str:
        return (self.folder / "password").read_text().strip()

    @property
    def url(self) -> str:
        """Return postgresql://user:password@127.0.0.1:port/database, of the superuser."""
        return f"postgresql://{self.username}:{quote(self.password)}@127.0.0.1:{self.port}/{self.database}"

    @property
    def running(self) -> proc.Identity | None:
        """Return the server on this data directory, whoever has started it."""
        lines = self._pid_file_lines()
        if not lines or not lines[0].strip().isdigit():
            return None
        pid = int(lines[0])
        words = proc.command_line(pid)
        is_on_it = str(self.data_directory) in words and "postgres" in words[0]
        return proc.identify(pid) if is_on_it else None

    def create(self, processes: Processes) -> None:
        """Create the cluster with its database unless it exists.

        It is made beside its place and renamed when it is complete: what an interrupted attempt has left is
        thrown away, a data directory never.
        """
        self.account.make_folder(self.folder)
        if self.exists:
            return
        making = self.folder / "data.making"
        if making.exists():
            shutil.rmtree(making)
        self.account.write(self.folder / "password", secrets.token_urlsafe(24) + "\n")
        self._initdb(processes, making)
        self._create_database(processes, making)
        with (making / "postgresql.conf").open("a") as stream:
            stream.write(f"\ninclude '{SETTINGS_FILE}'\n")
        making.rename(self.data_directory)

    def start(self, processes: Processes) -> Child:
        """Start the server and wait until it takes connections. Raises ChildError."""
        self._remove_stale_pid_file()
        self.account.write(self.data_directory / SETTINGS_FILE, self._settings_text())
        command: Command = [self.bin_directory / "postgres", "-D", self.data_directory]
        child = processes.start(
            self.name,
            command,
            folder=self.folder,
            account=self.account,
            stop_signals=STOP_SIGNALS,
        )
        processes.wait_until(lambda: self._is_ready(child), child, patience_s=120)
        return child

    def adopt(self, processes: Processes) -> Child | None:
        """Look after the server that somebody else has started in the place of ours; None where there is none."""
        running = self.running
        return processes.adopt(self.name, running, STOP_SIGNALS) if running else None

    def _initdb(self, processes: Processes, making: Path) -> None:
        options = ["--encoding=UTF8", "--locale=C", "--data-checksums", f"--username={self.username}"]
        options += ["--auth=scram-sha-256", f"--pwfile={self.folder / 'password'}"]
        options += ["--no-sync"] if self.is_scratch else []
        command = [str(self.bin_directory / "initdb"), *options, "-D", str(making)]
        self._run(processes, f"{self.name}-initdb", command)

    def _create_database(self, processes: Processes, making: Path) -> None:
        """Create it in single-user mode, so that the cluster is complete before anyone can connect to it."""
        if self.database == "postgres":
            return
        script = self.account.write(self.folder / "create.sql", f'CREATE DATABASE "{self.database}"\n')
        single = f'exec "$0" --single -D "$1" postgres < "{script}"'
        command: Command = ["/bin/sh", "-c", single, self.bin_directory / "postgres", making]
        self._run(processes, f"{self.name}-database", command)
        script.unlink()

    def _run(self, processes: Processes, name: str, command: Command) -> None:
        processes.run(processes.start(name, command, folder=self.folder, account=self.account))

    def _settings_text(self) -> str:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "logging_collector": "off",
            **self.settings,
        }
        return "".join(f"{name} = '{value}'\n" for name, value in settings.items())

    def _is_ready(self, child: Child) -> bool:
        lines = self._pid_file_lines()
        return len(lines) > 7 and lines[0].strip() == str(child.identity.pid) and lines[7].strip() == "ready"

    def _pid_file_lines(self) -> list[str]:
        try:
            return (self.data_directory / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return []

    def _remove_stale_pid_file(self) -> None:
        """Remove what a kill -9 or a reboot has left: its number may be someone else's by now.

        Raises EmbeddedError where the server runs.
        """
        if running := self.running:
            raise EmbeddedError(f"{self.name} runs already, as process {running.pid}: stop it first.")
        (self.data_directory / "postmaster.pid").unlink(missing_ok=True)


def require(url: str) -> None:
    """Raise EmbeddedError, with a sentence, unless the server at this address answers and lets its user in."""
    import psycopg  # not above: `make stop` and `make clean` work before anything is installed

    try:
        psycopg.connect(url, connect_timeout=CONNECT_S).close()
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise EmbeddedError(f"The warehouse of DATABASE_URL cannot be used: {reason}. Mend it, or unset it.") from error
