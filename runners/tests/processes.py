"""The processes of an attempt, as tests look at them."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from runners.tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from runners.conftest import Bench

T = TypeVar("T")


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter ended between the two steps of the reading
        return False


def pids(bench: Bench) -> tuple[int, int]:
    """The wrapper's and the command's."""
    words = (bench.folder / "pid").read_text().split()
    return int(words[1]), int(words[3])


def wrapper_ended(folder: Path) -> bool:
    """Tell whether the wrapper of the attempt in this folder is gone; also where nothing is written down of it."""
    try:
        words = (folder / "pid").read_text().split()
    except OSError:
        return True
    return not words or not is_alive(int(words[1]))


async def until_wrapper_ended(folder: Path) -> None:
    """Wait for the wrapper, which has locks for a moment after it has written down the end of the attempt."""
    deadline = time.monotonic() + PATIENCE_S
    while not wrapper_ended(folder):
        if time.monotonic() > deadline:
            raise AssertionError("the wrapper does not end")
        await asyncio.sleep(0.05)


def leads_session(pid: int) -> bool:
    """Tell whether a command is what it is signalled as: until it is, it belongs to its wrapper's session."""
    with contextlib.suppress(ProcessLookupError):
        return os.getsid(pid) == pid
    return False


def is_free(lock: Path) -> bool:
    """Tell whether nobody holds the lock of this file."""
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def heart(folder: Path) -> int:
    """The process that beats, and keeps to the deadline: the wrapper's child beside the command."""
    _, wrapper, _, command, _ = (folder / "pid").read_text().split()
    listing = Path(f"/proc/{wrapper}/task/{wrapper}/children")

    def only_other() -> int | None:
        """Return the heart once it is there; what the wrapper starts besides is over at once."""
        others = [int(child) for child in listing.read_text().split() if child != command]
        return others[0] if len(others) == 1 else None

    return awaited(only_other, "the wrapper has no heart")


def awaited(find: Callable[[], T | None], complaint: str) -> T:
    """Return what is found, once it is."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if (value := find()) is not None:
            return value
        time.sleep(0.05)  # between looks: processes tell nobody what they start
    raise AssertionError(complaint)


def is_written(path: Path) -> bool:
    return path.exists() and path.read_text().endswith("\n")


def in_folder(bench: Bench) -> list[int]:
    """Return the processes that work in the attempt's folder, also where it was deleted."""
    processes = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str((process / "cwd").readlink()).removesuffix(" (deleted)") == str(bench.folder):
                processes.append(int(process.name))
    return [pid for pid in processes if is_alive(pid)]


async def all_in_folder(bench: Bench, count: int) -> list[int]:
    """Return the processes that work in the attempt's folder once there are so many, of which one is the pause."""
    await bench.until(lambda: pause_of(bench) is not None and len(in_folder(bench)) >= count)
    return in_folder(bench)


def pause_of(bench: Bench) -> int | None:
    """Return the pause of 15 seconds of the attempt's heart; None before it has begun."""
    for pid in in_folder(bench):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # others of the folder end meanwhile
            if Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x0015\x00":
                return pid
    return None


async def has_heart(bench: Bench) -> None:
    """Wait until the attempt's heart pauses: it has come to life, and has looked at what is printed."""
    await bench.until(lambda: pause_of(bench) is not None)


def wake_heart(bench: Bench) -> None:
    """End the pause of the attempt's heart, once it has begun: it beats now instead of within 15 seconds."""
    awaited(lambda: end_pause(bench) or None, "the heart does not pause")


def end_pause(bench: Bench) -> bool:
    """End the pause of the attempt's heart, and tell whether there was one."""
    if (pause := pause_of(bench)) is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pause, signal.SIGKILL)
        return True
    return False
