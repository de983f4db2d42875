"""Measure how an honest reader fares beside 1,000 connections that do nothing, or as little as they can.

BenchHub's web server, and gunicorn with as many threads (the named peer, in a venv of its own), answer /alive of the
same program: alone, and beside 1,000 connections of four kinds in equal parts: silent ones, unfinished heads,
unfinished bodies of nobody, and readers that take nothing. Limits: with them, each of 200 requests is answered, and the
median takes at most twice as long as alone and 5 ms. What gunicorn does is printed beside it.
"""

from __future__ import annotations

import os
import resource
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from benchhub.embedded import ports

CLONE = Path(__file__).resolve().parent.parent
PEER = "gunicorn==27.0.1"
SLOW, REQUESTS, PATIENCE_S = 1000, 200, 5
LIMIT_RATIO, LIMIT_MS = 2.0, 5.0
TEXTS = (
    b"",
    b"GET /login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    b"POST /api/v1/deliveries/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60000\r\n\r\nx",
    b"GET /alive HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 10,
)
OWN = ("benchhub.serve", "--listen", "127.0.0.1:{}")
GUNICORN = ("gunicorn", "benchhub.wsgi", "-b", "127.0.0.1:{}", "-w", "1", "-k", "gthread", "--threads", "8")


@dataclass(frozen=True)
class Side:
    """Medians in ms of the requests that were answered, alone and beside slow connections, and how many were."""

    alone_ms: float
    beside_ms: float
    answered: int

    @property
    def is_within(self) -> bool:
        return self.answered == REQUESTS and self.beside_ms <= max(LIMIT_MS, LIMIT_RATIO * self.alone_ms)


def main() -> int:
    resource.setrlimit(resource.RLIMIT_NOFILE, (4 * SLOW, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    own = _measured(sys.executable, OWN)
    print(_words("BenchHub's server", own))
    with tempfile.TemporaryDirectory() as folder:
        python = _with_peer(Path(folder))
        print(_words(PEER, _measured(python, GUNICORN)) if python else f"{PEER} could not be installed here")
    return 0 if own.is_within else 1


def _words(name: str, side: Side) -> str:
    beside = f"{side.beside_ms:.1f} ms" if side.answered else "no answer"
    return (
        f"{name}: {side.alone_ms:.1f} ms alone, {beside} beside {SLOW:,} slow, {side.answered} of {REQUESTS} answered"
    )


def _with_peer(folder: Path) -> str:
    """Return the Python of a venv that has the peer and sees this one's packages; empty where that fails."""
    python = folder / "bin" / "python"
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", PEER], check=True, capture_output=True)
    except subprocess.CalledProcessError:
        return ""
    own_packages = next(path for path in sys.path if path.endswith("site-packages"))
    next((folder / "lib").glob("python3*/site-packages")).joinpath("own.pth").write_text(own_packages)
    return str(python)


def _measured(python: str, words: tuple[str, ...]) -> Side:
    with _served(python, words) as port:
        alone = [_time_ms(port) for _ in range(REQUESTS)]
        with ExitStack() as stack:
            for number in range(SLOW):
                stack.enter_context(_slow(port, TEXTS[number % len(TEXTS)]))
            beside = [_time_ms(port) for _ in range(REQUESTS if _time_ms(port) is not None else 3)]
    answered = [ms for ms in beside if ms is not None]
    return Side(statistics.median(filter(None, alone)), statistics.median(answered or [0]), len(answered))


@contextmanager
def _served(python: str, words: tuple[str, ...]) -> Iterator[int]:
    port = ports.free_port()
    command = [python, "-m", *(word.format(port) for word in words)]
    web = subprocess.Popen(command, cwd=CLONE, env=_environment(), stderr=subprocess.DEVNULL)
    try:
        until_s = time.monotonic() + 60
        while _time_ms(port) is None and time.monotonic() < until_s:
            time.sleep(0.2)
        yield port
    finally:
        web.kill()
        web.wait()


def _environment() -> Mapping[str, str]:
    settings = {"DATABASE_URL": "postgresql://127.0.0.1:1/none", "SECRET_KEY": secrets.token_hex()}
    return {**os.environ, **settings, "LOG_LEVEL": "ERROR", "DJANGO_SETTINGS_MODULE": "benchhub.settings"}


@contextmanager
def _slow(port: int, text: bytes) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        connection.sendall(text)
        yield connection


def _time_ms(port: int) -> float | None:
    """Return the milliseconds of one answer; None for none within the patience."""
    start = time.perf_counter()
    try:
        with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
            connection.request("GET", "/alive")
            connection.getresponse().read()
    except (OSError, HTTPException):
        return None
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    sys.exit(main())
