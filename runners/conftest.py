"""A real OpenSSH daemon on loopback, an account to log in with, and coroutine tests."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import inspect
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from benchhub.embedded.ports import free_port
from runners import job
from runners.collection import Collected
from runners.contract import Endpoint, Outputs, RunResult, RunSpec
from runners.job import Attempt, StartOutcome
from runners.keys import KeyPair, make_key_pair
from runners.ssh import Connections, Target
from runners.tests.patience import PATIENCE_S, widen
from runners.tests.processes import until_wrapper_ended
from runners.verdict import Look
from tests import places

SSHD = "/usr/sbin/sshd"
# A load that goes on until its test calls `release`, or has forgotten it.
HELD = "held=0; until [ -e released ] || [ $held -gt 6000 ]; do held=$((held + 1)); sleep 0.05; done"
CONFIGURATION = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
PidFile {folder}/sshd.pid
AuthorizedKeysFile {folder}/keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 300:30:600
MaxSessions 300
"""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test on a loop of its own, and close its connections on that loop."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(_with_closing(pyfuncitem, {name: pyfuncitem.funcargs[name] for name in names}))
    return True


async def _with_closing(item: pytest.Function, arguments: dict[str, object]) -> None:
    try:
        await item.obj(**arguments)
    finally:
        if isinstance(connections := item.funcargs.get("connections"), Connections):
            await connections.close()


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pass no limit of production because the machine is busy; a test of a limit sets that one itself."""
    widen(monkeypatch)


@dataclass(frozen=True)
class Login:
    """An account of this machine and a folder that it can write to."""

    username: str
    home: Path
    is_scratch: bool

    def popen_options(self) -> dict[str, object]:
        if not self.is_scratch:
            return {}
        entry = pwd.getpwnam(self.username)
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@pytest.fixture(scope="session")
def login(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Login]:
    """As root a scratch user with bash and a noisy .bashrc, removed afterwards; otherwise whoever runs the tests."""
    if os.geteuid() != 0:
        yield Login(getpass.getuser(), tmp_path_factory.mktemp("home"), is_scratch=False)
        return
    places.reap_machine()
    with places.held(places.USERS) as folder:
        yield from _scratch_user(folder)


def _scratch_user(folder: Path) -> Iterator[Login]:
    """Make a user whose name stands in the folder as long as there is one."""
    username = f"bhtest{secrets.token_hex(3)}"
    (folder / places.USERNAME).write_text(username)
    home = Path("/tmp") / username
    options = ["--system", "--create-home", "--home-dir", str(home), "--shell", "/bin/bash"]
    subprocess.run(["useradd", *options, username], check=True)
    try:
        # Without a password field an account is locked for sshd without PAM.
        subprocess.run(["usermod", "-p", "*", username], check=True)
        for name in (".bashrc", ".profile"):
            (home / name).write_text("echo 'Welcome! END-of noise'; echo oops >&2\nset -o noclobber\n")
        yield Login(username, home, is_scratch=True)
    finally:
        _kill_all_of(pwd.getpwnam(username).pw_uid)
        subprocess.run(["userdel", username], check=True)
        shutil.rmtree(home, ignore_errors=True)


def _kill_all_of(uid: int) -> None:
    """What tests cut off half way on the target, such as a held wait: userdel refuses while it is there."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        running = [path for path in Path("/proc").glob("[0-9]*") if _owner(path) == uid]
        if not running:
            return
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process.name), signal.SIGKILL)
        time.sleep(0.05)


def _owner(path: Path) -> int | None:
    try:
        return path.stat().st_uid
    except FileNotFoundError:
        return None


@dataclass
class Daemon:
    """One sshd, started and stopped at will, with its own folder for keys and configuration."""

    folder: Path
    port: int
    username: str
    keys: KeyPair
    process: subprocess.Popen[bytes] | None = None

    @property
    def target(self) -> Target:
        host_key = (self.folder / "host_key.pub").read_text().strip()
        return Target("127.0.0.1", self.port, self.username, self.keys.private_key, host_key)

    def make_host_key(self) -> None:
        pair = make_key_pair("sshd of the tests")
        (self.folder / "host_key").write_text(pair.private_key)
        (self.folder / "host_key").chmod(0o600)
        (self.folder / "host_key.pub").write_text(pair.public_key)

    def start(self, further: str = "") -> None:
        (self.folder / "keys").write_text(self.keys.public_key + "\n")
        configuration = self.folder / "sshd_config"
        # Of two lines sshd takes the first, but of MaxStartups the last.
        lines = CONFIGURATION.format(port=self.port, folder=self.folder).splitlines(keepends=True)
        configuration.write_text(further + "".join(line for line in lines if line.split()[0] not in further))
        command = [SSHD, "-D", "-f", str(configuration), "-E", str(self.folder / "log")]
        self.process = subprocess.Popen(command)
        self._wait_until_it_greets()

    def stop(self) -> None:
        """Stop the listener; sessions that are open go on, as with any restart of sshd."""
        if self.process:
            self.process.terminate()
            self.process.wait(PATIENCE_S)
            self.process = None

    def log_of(self) -> str:
        return (self.folder / "log").read_text()

    def _wait_until_it_greets(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                with socket.create_connection(("127.0.0.1", self.port), PATIENCE_S) as connection:
                    if connection.recv(4) == b"SSH-":
                        return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"sshd does not answer: {self.log_of()}")


@pytest.fixture(scope="session")
def make_daemon(login: Login) -> Iterator[Callable[[], Daemon]]:
    """Makes daemons, not yet started, that are stopped at the end."""
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    made: list[Daemon] = []
    folders = contextlib.ExitStack()

    def make() -> Daemon:
        folder = folders.enter_context(places.held(places.DAEMONS))
        folder.chmod(0o755)
        daemon = Daemon(folder, free_port(), login.username, make_key_pair("tests"))
        daemon.make_host_key()
        made.append(daemon)
        return daemon

    yield make
    for daemon in made:
        daemon.stop()
    folders.close()


@pytest.fixture(scope="session")
def sshd(make_daemon: Callable[[], Daemon]) -> Daemon:
    """The daemon that most tests share. Tests that break a daemon make their own."""
    daemon = make_daemon()
    daemon.start()
    return daemon


@pytest.fixture
def target(sshd: Daemon) -> Target:
    return sshd.target


@pytest.fixture
def connections() -> Connections:
    return Connections()


@pytest.fixture
def work(login: Login) -> Iterator[Path]:
    """A work directory of its own on the target, so that no test meets another's host.lock."""
    folder = login.home / f"work-{secrets.token_hex(4)}"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def attempt(work: Path) -> Attempt:
    return Attempt(run=f"run-{secrets.token_hex(8)}", number=1, work_directory=str(work))


@dataclass(frozen=True)
class FakeTool:
    """A load generator that is a line of shell; it needs no database."""

    measure: str = "true"
    load: str = "true"
    verify: str = "true"
    warmup: str = "true"
    pilot: str = ""
    age: str = ""
    name: str = "fake"
    program: str = "fake"
    unit: str = "TPS"
    parser: str = "fake/1"
    in_folder: tuple[str, ...] = ()
    on_path: tuple[str, ...] = ()

    def client(self, tool_version: str) -> str:
        return f"{self.program} {tool_version}"

    def check(self, spec: RunSpec) -> None:
        del spec

    def data_set(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        return parameters

    def data_set_bytes(self, parameters: Mapping[str, Any]) -> int:
        del parameters
        return 2**20

    def writes(self, parameters: Mapping[str, Any]) -> bool:
        del parameters
        return False

    def load_guess_s(self, parameters: Mapping[str, Any]) -> float:
        del parameters
        return 1.0

    def scripts_command(self, _spec: RunSpec) -> str:
        return ""

    def load_command(self, spec: RunSpec) -> str:
        del spec
        return self.load

    def verify_command(self, spec: RunSpec) -> str:
        del spec
        return self.verify

    def warmup_command(self, spec: RunSpec) -> str:
        del spec
        return self.warmup

    def pilot_command(self, spec: RunSpec) -> str:
        del spec
        return self.pilot

    def reduce_command(self, spec: RunSpec) -> str:
        del spec
        return ""

    def measure_command(self, spec: RunSpec) -> str:
        del spec
        return self.measure

    def parse(self, spec: RunSpec, outputs: Outputs) -> RunResult:
        del spec, outputs
        return RunResult("succeeded", "", self.parser)

    def fingerprint_query(self, parameters: Mapping[str, Any]) -> str:
        del parameters
        return "SELECT 'fingerprint'"

    def age_query(self, parameters: Mapping[str, Any]) -> str:
        del parameters
        return self.age


def fake_spec(**changes: Any) -> RunSpec:
    """A spec whose programs and server are nowhere: psql fails at once, which fails no run."""
    endpoint = Endpoint("loopback", "127.0.0.1", 1, "nowhere", "nobody")
    return replace(RunSpec("fake", "1", "/nonexistent/bin", endpoint, {}), **changes)


@dataclass(frozen=True)
class Bench:
    """One attempt's place on the target, its connections, and what a test asks of it again and again."""

    connections: Connections
    target: Target
    attempt: Attempt
    work: Path

    @property
    def folder(self) -> Path:
        return self.work / "runs" / self.attempt.run / str(self.attempt.number)

    def of(self, number: int) -> Bench:
        return replace(self, attempt=replace(self.attempt, number=number))

    async def start(self, command: str, **further: Any) -> StartOutcome:
        """Start with a load of one line of shell, which also counts itself in work/count."""
        tool = FakeTool(measure=f"echo {self.attempt.number} >> {self.work}/count\n{command}")
        spec = further.pop("spec", fake_spec())
        return await job.start(self.connections, self.target, self.attempt, spec, tool=tool, **further)

    async def look(self, offset: int = 0, out_offset: int = 0) -> Look:
        return await job.look(self.connections, self.target, self.attempt, offset=offset, out_offset=out_offset)

    async def ended(self) -> bool:
        has_ended = await job.wait_for_end(self.connections, self.target, self.attempt, timeout_s=PATIENCE_S)
        if has_ended:
            await until_wrapper_ended(self.folder)
        return has_ended

    async def collect(self, cap_bytes: int = 1 << 20) -> Collected:
        return await job.collect(self.connections, self.target, self.attempt, cap_bytes=cap_bytes)

    async def cancel(self, grace_s: int = 10, *, is_withdrawn: bool = False) -> None:
        place = (self.connections, self.target, self.attempt)
        await job.cancel(*place, grace_s=grace_s, is_withdrawn=is_withdrawn)
        await until_wrapper_ended(self.folder)

    async def acknowledge(self, **further: int) -> None:
        limits = {"timeout_s": PATIENCE_S, **further}
        await job.acknowledge(self.connections, self.target, self.attempt, **limits)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for something to show in the attempt's folder."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if is_so():
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"it did not happen; there is {sorted(path.name for path in self.folder.iterdir())}")

    def release(self) -> None:
        """Let the attempt's load end that is HELD."""
        (self.folder / "released").touch()

    def executions(self) -> list[str]:
        """The target's own count: the number of each attempt whose load began."""
        count = self.work / "count"
        return count.read_text().split() if count.exists() else []


@pytest.fixture
def bench(connections: Connections, target: Target, attempt: Attempt, work: Path) -> Bench:
    return Bench(connections, target, attempt, work)
