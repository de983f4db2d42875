"""Read from /proc about processes: enough to stop exactly those that were meant."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, order=True)
class Identity:
    """One process for ever: a number alone is given out again, number with start time and boot is not."""

    pid: int
    started_ticks: int
    boot_id: str


def boot_id() -> str:
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def identify(pid: int) -> Identity | None:
    """Return the process that has this number now; None when there is none or it only waits to be reaped."""
    fields = _stat(pid)
    if fields is None or fields[0] in "ZX":
        return None
    return Identity(pid, int(fields[19]), boot_id())


def is_alive(process: Identity) -> bool:
    return identify(process.pid) == process


def send(process: Identity, signal_number: int) -> None:
    """Signal the process if it still is the one that was meant."""
    if is_alive(process):
        try:
            os.kill(process.pid, signal_number)
        except ProcessLookupError:
            return  # it ended between the two lines, which is what a signal asks for


def family(pid: int) -> list[Identity]:
    """Return the descendants of a process, and the rest of the session that it leads.

    The session matters when the leader is gone: its orphans are no longer anyone's descendants.
    """
    children: dict[int, list[int]] = {}
    session = []
    for candidate in pids():
        fields = _stat(candidate)
        if fields is not None:
            children.setdefault(int(fields[1]), []).append(candidate)
            session += [candidate] if int(fields[3]) == pid != candidate else []
    members, queue = [], [pid, *session]
    while queue:
        below = children.get(queue.pop(0), [])
        queue += below
        members += below
    return [process for child in {*session, *members} if (process := identify(child))]


def marked(variable: str, value: str, logs: Path | None = None) -> list[Identity]:
    """Return processes that were started with this environment variable, as far as this user may look.

    A server that writes its title over its environment, as sshd does, is found by its errors still going into a file
    of the folder `logs`.
    """
    mark = f"{variable}={value}".encode()
    processes = [identify(pid) for pid in pids() if mark in _environment(pid) or (logs and _logs_into(logs, pid))]
    return [process for process in processes if process is not None]


def command_line(pid: int) -> list[str]:
    try:
        return os.fsdecode((PROC / str(pid) / "cmdline").read_bytes()).split("\0")
    except OSError:
        return []


def pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def wait_for_end(processes: list[Identity], patience_s: float) -> list[Identity]:
    """Wait until all have ended, and return those that have not."""
    deadline = time.monotonic() + patience_s
    while processes := [process for process in processes if is_alive(process)]:
        if time.monotonic() >= deadline:
            break
        time.sleep(0.02)
    return processes


def kill(processes: list[Identity]) -> None:
    """End the processes at once, as a power cut would."""
    for process in processes:
        send(process, signal.SIGKILL)
    wait_for_end(processes, patience_s=5)


def kill_family(process: Identity, members: list[Identity]) -> None:
    """Kill the process, its `members`, and what its session still starts meanwhile."""
    kill([process, *members])
    for _ in range(20):
        rest = family(process.pid)
        if not rest:
            break
        kill(rest)


def kill_marked(variable: str, value: str, logs: Path | None = None) -> int:
    """Kill marked processes until none is left (one may start another meanwhile); return how many there were."""
    killed: set[Identity] = set()
    for _ in range(20):
        processes = [process for process in marked(variable, value, logs) if process.pid != os.getpid()]
        if not processes:
            break
        kill(processes)
        killed.update(processes)
    return len(killed)


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/<pid>/stat from the third (state) on: the name before may hold spaces and brackets."""
    try:
        return (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def _environment(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _logs_into(folder: Path, pid: int) -> bool:
    """Tell whether its standard error is a file of this folder; one that was removed since counts too."""
    try:
        return (PROC / str(pid) / "fd" / "2").readlink().parent == folder.resolve()
    except OSError:
        return False
