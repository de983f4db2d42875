"""BenchHub as it is run, in small: real workers and tickers, a broker, and hosts whose loads count themselves.

Faults are injected from outside: signals, a proxy that cuts the line (proxy.py), files, SQL. What a host has executed
is told by the host alone: the `pgbench` there appends a line to a file of its own before it becomes the real one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchhub.embedded import ports, proc
from benchhub.embedded.account import Account
from benchhub.embedded.broker import Broker
from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import MARKER, Child, Command, Processes
from benchhub.embedded.sshd import SshTarget
from tests.faults.proxy import Proxy

if TYPE_CHECKING:
    from benchhub.bench.models import Run

CLONE = Path(__file__).resolve().parent.parent.parent
PATIENCE_S = 240  # of a busy machine

# $PGAPPNAME names the run. `behaviour` is what a test wants the load to do before, or instead. A pilot, which is the
# load without a log, is no execution and behaves.
COUNTING_PGBENCH = """\
#!/bin/sh
case " $* " in
*" -i "*) ;;
*" -l "*) echo "$PGAPPNAME" >> {folder}/executions ;;
*) exec {real}/pgbench "$@" ;;
esac
[ ! -e {folder}/behaviour ] || . {folder}/behaviour
exec {real}/pgbench "$@"
"""


@dataclass(frozen=True)
class Machine(SshTarget):
    """An SSH daemon whose machine can be another one after a reboot, or one with a wrong clock.

    `boot_id` (as root) is what its sessions find in /proc; `variables` stand in their environment; `options` come
    first in the configuration of its daemon.
    """

    boot_id: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    options: str = ""

    def _openssh_configuration(self) -> str:
        return self.options + super()._openssh_configuration()

    def session_environment(self) -> dict[str, str]:
        return {**super().session_environment(), **dict(self.variables)}

    def start(self, processes: Processes) -> Child:
        if not self.boot_id:
            return super().start(processes)
        self.create()
        program = self._openssh()
        assert program, "a reboot needs OpenSSH"
        child = processes.start(self.name, self._rebooted(self._openssh_command(program)), folder=self.folder)
        processes.wait_until(lambda: ports.greeting(self.port).startswith(b"SSH-2.0-"), child, patience_s=PATIENCE_S)
        return child

    def _rebooted(self, command: Command) -> Command:
        """In a mount namespace of its own another boot's number lies over the kernel's."""
        file = self.account.write(self.folder / "boot_id", self.boot_id + "\n")
        mount = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'
        user = ["setpriv", f"--reuid={self.account.uid}", f"--regid={self.account.gid}", "--clear-groups"]
        return ["unshare", "--mount", "/bin/sh", "-c", mount, file, *user, *command]


@dataclass
class Site:
    """A host to be measured on: its daemon, the line to it, and its counting programs."""

    machine: Machine
    proxy: Proxy
    bin_directory: Path
    private_key: str
    child: Child | None = None

    @property
    def name(self) -> str:
        return self.machine.name

    def count(self) -> Counter[str]:
        """Count how often the load of each run was executed here, by the run's application name."""
        file = self.bin_directory / "executions"
        return Counter(file.read_text().split()) if file.exists() else Counter()

    def executions(self, run: Run) -> int:
        return self.count()[f"benchhub-{run.uuid}"]

    def behave(self, shell: str) -> None:
        """Set what the host's load does from now on before it becomes the real one, or instead of it (`exit`)."""
        self.machine.account.write(self.bin_directory / "behaviour", shell + "\n")

    def folder(self, run: Run, attempt: int = 1) -> Path:
        return self.machine.work_directory / "runs" / str(run.uuid) / str(attempt)

    @property
    def ledger(self) -> list[str]:
        file = self.machine.work_directory / "ledger"
        return file.read_text().splitlines() if file.is_file() else []


@dataclass
class Rig:
    """`environment` is what web, worker and ticker are told; `lease_s` is what their times follow from."""

    processes: Processes
    account: Account
    folder: Path
    server: Cluster
    broker: Broker
    environment: dict[str, str]
    lease_s: float
    sites: list[Site] = field(default_factory=list)
    running: list[Child] = field(default_factory=list)

    # --- hosts -----------------------------------------------------------------------------------------------

    def site(self, name: str) -> Site:
        """A host with a daemon, started, and a line to it."""
        marker = f"{self.processes.marker}-target"
        folder = self.folder / name
        self.account.make_folder(folder)
        machine = Machine(folder / "sshd", ports.free_port(), self.account, marker, name=f"sshd-{name}")
        machine.create()
        private_key, public_key = _key_pair()
        machine.authorize(public_key)
        proxy = Proxy(machine.port, ports.free_port([machine.port]))
        site = Site(machine, proxy, self._programs(folder / "bin"), private_key)
        site.child = machine.start(self.processes)
        proxy.start()
        self.sites.append(site)
        return site

    def _programs(self, folder: Path) -> Path:
        self.account.make_folder(folder)
        texts = {
            "pgbench": COUNTING_PGBENCH.format(folder=folder, real=self.server.bin_directory),
            "psql": f'#!/bin/sh\nexec {self.server.bin_directory}/psql "$@"\n',
        }
        for name, text in texts.items():
            self.account.write(folder / name, text).chmod(0o700)
        return folder

    def reboot(self, site: Site, boot_id: str, *, clean: bool = False) -> None:
        """Everything on the machine dies at once; the next boot has another number."""
        self.stop_daemon(site)
        if not clean:
            proc.kill_marked(MARKER, site.machine.marker)
        site.machine = replace(site.machine, boot_id=boot_id)
        site.child = site.machine.start(self.processes)

    def stop_daemon(self, site: Site) -> None:
        """The daemon and its sessions end, as with a kill -9; jobs go on."""
        if site.child:
            kill(site.child)
            site.child = None

    def start_daemon(self, site: Site, options: str = "") -> None:
        site.machine = replace(site.machine, options=options)
        site.child = site.machine.start(self.processes)

    # --- BenchHub ----------------------------------------------------------------------------------------------

    def worker(self, name: str = "worker", threads: int = 12, **environment: str) -> Child:
        options = (
            "-P",
            "threads",
            "-c",
            str(threads),
            "-l",
            "INFO",
            "--without-gossip",
            "--without-mingle",
            "-n",
            f"{name}@x",
        )
        child = self._celery(name, "worker", *options, **environment)
        self.processes.wait_until(lambda: " ready." in child.log.read_text(), child, PATIENCE_S)
        return child

    def ticker(self, name: str = "ticker", **environment: str) -> Child:
        schedule = self.folder / f"{name}-{time.monotonic_ns()}"
        words = ("beat", "-l", "INFO", "-s", str(schedule), "--pidfile=")
        return self._celery(name, *words, app="benchhub.ticker", **environment)

    def web(self, port: int) -> Child:
        words = ("benchhub.serve", "--listen", f"127.0.0.1:{port}")
        return self._python("web", *words)

    def both(self) -> Child:
        """A ticker and a worker; returns the worker."""
        self.ticker()
        return self.worker()

    def _celery(self, name: str, *words: str, app: str = "benchhub", **environment: str) -> Child:
        return self._python(name, "celery", "-A", app, *words, **environment)

    def _python(self, name: str, *words: str, **environment: str) -> Child:
        log = self.processes.logs / f"{name}.log"
        log.unlink(missing_ok=True)
        command = [sys.executable, "-m", *words]
        child = self.processes.start(name, command, folder=CLONE, environment={**self.environment, **environment})
        self.running.append(child)
        return child

    def close(self) -> None:
        """End BenchHub first, then the hosts and every job that is left on them."""
        for child in self.running:
            kill(child)
        for site in self.sites:
            site.proxy.stop()
            self.stop_daemon(site)
        if self.sites:
            proc.kill_marked(MARKER, self.sites[0].machine.marker)


def kill(child: Child) -> None:
    """kill -9 of a process and everything below it; a paused one too."""
    proc.kill_family(child.identity, proc.family(child.identity.pid))
    child.process.wait(PATIENCE_S)


def pause(child: Child) -> None:
    os.kill(child.process.pid, signal.SIGSTOP)


def wake_up(child: Child) -> None:
    os.kill(child.process.pid, signal.SIGCONT)


def crash(cluster: Cluster) -> None:
    """kill -9 of a PostgreSQL server: its backends notice that their parent is gone and end as well."""
    pid = int((cluster.data_directory / "postmaster.pid").read_text().split()[0])
    server, family = proc.identify(pid), proc.family(pid)
    proc.kill([*filter(None, [server]), *family])


def until(is_so: Callable[[], object], patience_s: float = PATIENCE_S, event: str = "") -> None:
    deadline = time.monotonic() + patience_s
    while not is_so():
        assert time.monotonic() < deadline, f"it did not happen within {patience_s:g} s: {event or is_so}"
        time.sleep(0.1)


def load_data_set(server: Cluster) -> None:
    """pgbench's tables at scale 1, once per server."""
    environment = {"PGPASSWORD": server.password, "PATH": os.environ["PATH"]}
    options = ["-h", "127.0.0.1", "-p", str(server.port), "-U", server.username, "-i", "-q", "-s", "1"]
    command = [str(server.bin_directory / "pgbench"), *options, server.database]
    subprocess.run(command, env=environment, check=True, capture_output=True)


def remove(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def _key_pair() -> tuple[str, str]:
    from runners.keys import make_key_pair

    pair = make_key_pair("faults")
    return pair.private_key, pair.public_key
