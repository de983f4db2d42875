"""Start a web process for a benchmark, and send it bodies over the loopback."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from benchhub.embedded import ports

PATIENCE_S = 60
OWN = "benchhub.wsgi"
OWN_SERVER = ("benchhub.serve", "--listen", "127.0.0.1:{port}")
# As many threads as a process of ours has.
ONE_PROCESS = ("--workers", "1", "--threads", "8")


class NoAnswerError(SystemExit):
    """A process that does not answer, or not as it should: the end of a benchmark that does not expect it."""


@dataclass(frozen=True)
class Door:
    """Where bodies go: what is sent with each, and the status that says it was taken."""

    port: int
    path: str
    headers: Mapping[str, str]
    taken: int


@contextmanager
def served(python: Path, application: str, folder: Path, environment: Mapping[str, str]) -> Iterator[int]:
    """Yield the port of a web process with this WSGI application: our own server for ours, gunicorn for a peer's.

    Raises NoAnswerError.
    """
    peer = ("gunicorn", application, "--bind", "127.0.0.1:{port}", *ONE_PROCESS, "--log-level", "warning")
    with process(python, OWN_SERVER if application == OWN else peer, folder, environment) as (port, _):
        yield port


@contextmanager
def process(
    python: Path, words: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Yield the port of a web process and itself, which may be killed meanwhile. Raises NoAnswerError."""
    port = ports.free_port()
    command = [str(python), "-m", *(word.format(port=port) for word in words)]
    child = subprocess.Popen(command, cwd=folder, env=dict(environment))
    try:
        _wait_for(port)
        yield port, child
    finally:
        child.terminate()
        child.wait(PATIENCE_S)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            with closing(HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
                connection.request("GET", "/alive")
                connection.getresponse()
                return
        except OSError:
            time.sleep(0.2)
    raise NoAnswerError("The web process does not answer.")


def seconds(door: Door, bodies: Sequence[bytes], clients: int) -> float:
    """Return the seconds until all bodies but the first are taken; that one fills the caches beforehand."""
    _send(door, bodies[:1])
    begun = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(lambda n: _send(door, bodies[1 + n :: clients]), range(clients)))
    return time.perf_counter() - begun


def _send(door: Door, bodies: Sequence[bytes]) -> None:
    with closing(HTTPConnection("127.0.0.1", door.port, timeout=10 * PATIENCE_S)) as connection:
        for body in bodies:
            connection.request("POST", door.path, body, dict(door.headers))
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != door.taken:
                raise NoAnswerError(f"{door.path} answered {answer.status}: {text[:500].decode(errors='replace')}")
