"""The processes of an attempt, as tests look at them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from runners.conftest import Bench


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def pids(bench: Bench) -> tuple[int, int]:
    """The wrapper's and the command's."""
    words = (bench.folder / "pid").read_text().split()
    return int(words[1]), int(words[3])


def heart(folder: Path) -> int:
    """The process that beats, and keeps to the deadline: the wrapper's child beside the command."""
    _, wrapper, _, command, _ = (folder / "pid").read_text().split()
    listing = Path(f"/proc/{wrapper}/task/{wrapper}/children")
    # What the wrapper starts besides is over at once.
    while len(others := [int(child) for child in listing.read_text().split() if child != command]) > 1:
        time.sleep(0.05)
    [pid] = others
    return pid


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


def wake_heart(bench: Bench) -> None:
    """End the pause of the attempt's heart, once it has begun: it beats now instead of within 15 seconds."""
    for _ in range(1200):
        if end_pause(bench):
            return
        time.sleep(0.05)
    raise AssertionError("the heart does not pause")


# --- cancel -------------------------------------------------------------------------------------------------


def end_pause(bench: Bench) -> bool:
    """End the pause of the attempt's heart, and tell whether there was one."""
    for pid in in_folder(bench):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # others of the folder end meanwhile
            if Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x0015\x00":
                os.kill(pid, signal.SIGKILL)
                return True
    return False
