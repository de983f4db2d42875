"""Readings of what a target sent, in a process of their own that the kernel ends: at most so much time and memory.

A reading is a function of a module and plain arguments, so that it can be sent there. Its process is forked from a
small server that has loaded the parsers, not from the caller with its threads.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import forkserver, util
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar, cast

MOST_CPU_S = 30
MOST_MEMORY_BYTES = 2 << 30
PARSERS = [
    "runners.job", "runners.probe", "runners.counters", "runners.telemetry.series", "runners.tools",
    "runners.clusters.visit", "runners.inspection.answer", "runners.builds.work",
]  # fmt: skip

T = TypeVar("T")

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(PARSERS)
_starting = threading.Lock()


class Unread(ValueError):  # noqa: N818  # how things stand, and no error of ours
    """A reading took more time or memory than any honest answer needs."""


def read(function: Callable[..., T], *arguments: Any) -> T:
    """Return what a reading returns, or raise what it raises. Raises Unread where it reached a limit."""
    ours, theirs = _context.Pipe(duplex=False)
    process = _context.Process(target=_answer, args=(theirs, MOST_CPU_S, function, arguments), daemon=True)
    _start(process)
    theirs.close()
    value, error = _received(ours)
    process.join()
    if error is not None:
        raise error
    return cast(T, value)


async def apart(function: Callable[..., T], *arguments: Any) -> T:
    """Return what `read` returns; the event loop goes on meanwhile."""
    return await asyncio.to_thread(read, function, *arguments)


def _start(process: BaseProcess) -> None:
    """Start it, also where the server or its socket has gone since: whoever tidies up /tmp takes that along.

    One thread at a time: who waited finds the server that another has made anew.
    """
    with _starting:
        try:
            process.start()
        except (FileNotFoundError, ConnectionError, EOFError):
            _leave_server()
            process.start()


def _leave_server() -> None:
    """Have the next process get a new server, whose socket has a folder of this account's alone.

    The old one ends with the last reading that it has begun, and nobody else waits for that.
    """
    server: Any = forkserver._forkserver
    if server._forkserver_pid is not None:
        os.close(server._forkserver_alive_fd)
        threading.Thread(target=_await, args=(server._forkserver_pid,), daemon=True).start()
        server._forkserver_address = server._forkserver_alive_fd = server._forkserver_pid = None
    folder = Path(util.get_temp_dir())
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if folder.lstat().st_uid != os.geteuid():
        raise PermissionError(f"{folder} is somebody else's")


def _await(pid: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _received(pipe: Connection[Any, Any]) -> tuple[object, Exception | None]:
    try:
        answer: tuple[object, Exception | None] = pipe.recv()
        return answer
    except EOFError:
        return None, Unread(f"reading it took more than {MOST_CPU_S} s of CPU time, or ended without an answer")
    finally:
        pipe.close()


def _answer(pipe: Connection[Any, Any], cpu_s: int, function: Callable[..., object], arguments: Sequence[Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pipe.send(_outcome(function, arguments))


def _outcome(function: Callable[..., object], arguments: Sequence[Any]) -> tuple[object, Exception | None]:
    try:
        return function(*arguments), None
    except MemoryError:
        return None, Unread(f"reading it took more than {MOST_MEMORY_BYTES >> 30} GiB of memory")
    except Exception as error:  # noqa: BLE001  # the caller raises it again
        return None, error
