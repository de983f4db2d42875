"""Child processes of one supervisor: started with a log each, stopped in reverse order, never left behind.

Each child leads a session of its own, so that Ctrl-C reaches the supervisor alone. A note per child under
`notes` outlives a supervisor that was killed; `stop_leftovers` of its guard (guard.py) or of the next one reads them.
What has no note is found by the marker in its environment, or by its errors that go into `logs`.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchhub.embedded import EmbeddedError, guard, proc
from benchhub.embedded.account import Account

MARKER = "BENCHHUB_DEMO"
TARGET_SUFFIX = "-target"  # of the mark of jobs that run below a supervisor's SSH daemon
POLL_S = 0.05
LOG_BYTES = 100_000
# What a child gets of the environment: nothing that would change what a server does (PGPORT, PYTHONPATH, ...).
PLAIN_ENVIRONMENT: dict[str, str] = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC"}

Command = Sequence[str | Path]
StopSignals = Sequence[tuple[int, float]]
TERMINATE: StopSignals = ((signal.SIGTERM, 10.0),)


class InterruptError(Exception):
    """Someone asked the supervisor to end."""


class ChildError(EmbeddedError):
    """A child ended that should not have, or with an exit code other than 0."""


class Adopted:
    """A process that somebody else has started, in as much as a supervisor asks: how it ends is never known."""

    def __init__(self, identity: proc.Identity) -> None:
        self.pid = identity.pid
        self._identity = identity

    def poll(self) -> int | None:
        return None if proc.is_alive(self._identity) else 0

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, `timeout` seconds at most (None: a year); it is no error if it is still there then."""
        proc.wait_for_end([self._identity], 365 * 86_400 if timeout is None else timeout)
        return 0


@dataclass(frozen=True)
class Child:
    name: str
    process: subprocess.Popen[bytes] | Adopted
    identity: proc.Identity
    log: Path
    stop_signals: StopSignals

    @property
    def exit_code(self) -> int | None:
        return self.process.poll()


class Processes:
    """The children of this process. `folder` takes `log/` and `run/`; `marker` tells them from all others."""

    def __init__(self, folder: Path, marker: str) -> None:
        self.logs = folder / "log"
        self.notes = folder / "run"
        self.marker = marker
        self.interrupted = threading.Event()
        self._children: dict[str, Child] = {}
        self._named: set[str] = set()
        self._guard: guard.Guard | None = None
        self._stopping = False
        self._lock = threading.Lock()
        for directory in (self.logs, self.notes):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    @property
    def has_started_any(self) -> bool:
        return bool(self._named)

    def start(
        self,
        name: str,
        command: Command,
        *,
        folder: Path,
        account: Account | None = None,
        environment: Mapping[str, str] = PLAIN_ENVIRONMENT,
        stop_signals: StopSignals = TERMINATE,
        to_terminal: bool = False,
        inherits: Sequence[int] = (),
    ) -> Child:
        """Start a child in `folder`; `to_terminal` lets it write its output, not its errors, to ours.

        `inherits` are open files of ours that it gets under the same numbers.

        Raises EmbeddedError when it cannot be started, or when another child of this name runs.
        """
        with self._lock:
            self._check()
            self._refuse_second(name)
            log = self._log(name)
            self._guard = self._guard or self._post_guard()
            marked = {**environment, MARKER: self.marker}
            process = _spawn(command, log, to_terminal, folder, marked, account, inherits)
            identity = proc.identify(process.pid) or proc.Identity(process.pid, 0, proc.boot_id())
            child = Child(name, process, identity, log, stop_signals)
            self._children[name] = child
            _write_note(self.notes, child)
        return child

    def adopt(self, name: str, process: proc.Identity, stop_signals: StopSignals = TERMINATE) -> Child:
        """Look after a process that somebody else has started in the place of a child of ours that has ended.

        Raises EmbeddedError where our child of this name runs.
        """
        with self._lock:
            self._check()
            self._refuse_second(name)
            child = Child(name, Adopted(process), process, self._log(name), stop_signals)
            self._children[name] = child
            _write_note(self.notes, child)
        return child

    def run(self, child: Child, while_waiting: Callable[[], None] = lambda: None) -> None:
        """Wait until `child` has ended. Raises ChildError with its last words, or InterruptError."""
        try:
            while child.exit_code is None:
                while_waiting()
                self.pause(POLL_S)
        finally:
            self.stop(child)
        if child.exit_code:
            raise ChildError(f"{child.name} failed: {_end_text(child.exit_code, child.log)}")

    def wait_until(self, is_ready: Callable[[], bool], child: Child, patience_s: float) -> None:
        """Wait until a server that is `child` is ready. Raises ChildError when it ends or takes too long."""
        deadline = time.monotonic() + patience_s
        while not is_ready():
            if child.exit_code is not None:
                raise ChildError(f"{child.name} did not start: {last_words(child.log)}")
            if time.monotonic() > deadline:
                raise ChildError(f"{child.name} was not ready after {patience_s:.0f} s; its log is {child.log}")
            self.pause(POLL_S)

    def pause(self, seconds: float) -> None:
        """Sleep. Raises InterruptError as soon as someone asks for the end."""
        self.interrupted.wait(seconds)
        self._check()

    def stop(self, child: Child) -> None:
        """Stop the child and all that descends from it, politely first; return when none of them is left."""
        family = proc.family(child.identity.pid)
        for signal_number, patience_s in child.stop_signals:
            if child.exit_code is None:
                proc.send(child.identity, signal_number)
                _wait(child, patience_s)
        proc.kill_family(child.identity, family)
        child.process.wait()
        if self._children.get(child.name) is child:
            del self._children[child.name]
        _note(self.notes, child.name).unlink(missing_ok=True)

    def stop_named(self, name: str) -> None:
        """Stop the child of this name if there is one."""
        if name in self._children:
            self.stop(self._children[name])

    def stop_all(self) -> None:
        """Stop every child, the last one first; nothing can be started any more."""
        with self._lock:
            self._stopping = True
        for child in reversed(list(self._children.values())):
            self.stop(child)
        if self._guard:
            self._guard.dismiss()
            self._guard = None

    def kill_marked(self) -> int:
        """Kill whatever else carries this supervisor's mark, and return how many processes there were."""
        return proc.kill_marked(MARKER, self.marker, self.logs)

    def _post_guard(self) -> guard.Guard:
        return guard.post(self.notes.parent, [f"{self.marker}{TARGET_SUFFIX}", self.marker], PLAIN_ENVIRONMENT)

    def _refuse_second(self, name: str) -> None:
        """Refuse a second child of one name: it would take the place of the first, which nobody would stop."""
        if name in self._children and self._children[name].exit_code is None:
            raise EmbeddedError(f"{name} runs already: stop it first, or give the second one a name of its own.")

    def _log(self, name: str) -> Path:
        """Open the log of a child, empty at its first start; that of the supervisor before is kept beside it."""
        log = self.logs / f"{name}.log"
        if name not in self._named and log.exists():
            log.rename(log.with_suffix(".log.before"))
        self._named.add(name)
        return log

    def _check(self) -> None:
        if self.interrupted.is_set() or self._stopping:
            raise InterruptError


def stop_leftovers(folder: Path, markers: Sequence[str]) -> int:
    """Stop what a supervisor that was killed has left in its `folder`: by its notes first, then by the markers.

    Return how many processes were still alive.
    """
    proc.kill_marked(guard.VARIABLE, str(folder))  # or it would end what is started here next
    stopped = 0
    notes, logs = folder / "run", folder / "log"
    paths = sorted(notes.glob("*.child.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in paths:
        stopped += _stop_noted(json.loads(path.read_text() or "null"))
        path.unlink()
    return stopped + sum(proc.kill_marked(MARKER, marker, logs) for marker in markers)


def _end_text(exit_code: int, log: Path) -> str:
    """Say how it ended: what it said last tells nothing of a signal, which the kernel sends where memory runs out."""
    if exit_code > 0:
        return last_words(log)
    memory_text = "; was memory short?" if -exit_code in (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT) else ""
    return f"it was ended by signal {-exit_code} ({signal.strsignal(-exit_code)}{memory_text}; see {log})"


# What a traceback begins its last line with; people read the rest.
EXCEPTION = r"^[\w.]*(Error|Exception): "


def last_words(log: Path) -> str:
    """Return the last line of a log that tells of an error, or the last of all, and where the rest is."""
    lines = last_lines(log, 12)
    is_full = not lines and shutil.disk_usage(log.parent).free < LOG_BYTES  # so that nothing could be said
    if is_full or any("No space left on device" in line for line in lines):
        return f"the disk is full (see {log})."
    telling = [line for line in lines if re.search(r"error|fatal|panic|could not", line, re.IGNORECASE)]
    words = (telling or lines or ["it said nothing"])[-1]
    return f"{re.sub(EXCEPTION, '', words)} (see {log})"


def last_lines(log: Path, count: int) -> list[str]:
    """Return the last lines of a log, none of them empty, from its last 64 kB."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - 65_536))
            text = stream.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]


def _spawn(
    command: Command,
    log: Path,
    to_terminal: bool,
    folder: Path,
    environment: Mapping[str, str],
    account: Account | None,
    inherits: Sequence[int],
) -> subprocess.Popen[bytes]:
    options = account.popen_options() if account else {}
    with log.open("ab") as stream:
        try:
            return subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=None if to_terminal else stream,
                stderr=stream,
                cwd=folder,
                env=dict(environment),
                start_new_session=True,
                pass_fds=inherits,
                **options,
            )
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
            raise EmbeddedError(f"{command[0]} cannot be started: {error.strerror}.") from error


def _wait(child: Child, patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while child.exit_code is None and time.monotonic() < deadline:
        time.sleep(0.02)


def _note(notes: Path, name: str) -> Path:
    return notes / f"{name}.child.json"


def _write_note(notes: Path, child: Child) -> None:
    fresh = notes / f".{child.name}.new"
    fresh.write_text(json.dumps({"identity": asdict(child.identity), "stop_signals": child.stop_signals}))
    fresh.rename(_note(notes, child.name))


def _stop_noted(note: dict[str, Any] | None) -> int:
    if note is None:  # written while the disk was full; the marker finds the process
        return 0
    process = proc.Identity(**note["identity"])
    if not proc.is_alive(process):
        return 0
    family = proc.family(process.pid)
    for signal_number, patience_s in note["stop_signals"]:
        proc.send(process, signal_number)
        proc.wait_for_end([process], patience_s)
    proc.kill_family(process, family)
    return 1
