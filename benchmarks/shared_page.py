"""Measure how many shared pages a second the web process hands out from its cache: limit 300 on two cores.

A warehouse of its own, two web processes as docker-compose.yml starts them, and clients on the same machine that
keep their connections. Each answer is asked of the database first, so that a link that was withdrawn shows nothing at
once, and each is counted as a view. Beside it: the same page with If-None-Match, as a browser asks that has it already,
and the least that this server can answer (/alive), which says how much of the time is BenchHub's.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

from benchhub.embedded import account as accounts
from benchhub.embedded import ports, programs
from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import Processes

CLONE = Path(__file__).resolve().parent.parent
LIMIT_PER_S = 300
SECONDS = 5.0
CLIENTS = 4
PUBLISH = """
from benchhub.reports.published_files import reports
from benchhub.reports.sharing import publish
from django.contrib.auth.models import AnonymousUser
made = publish.published_snapshot(reports()[0], AnonymousUser())
print(publish.link(made, ["host"], "", None, name="everybody")[1])
"""


def main() -> int:
    with _served() as (port, token):
        path = f"/s/{token}/"
        headers = {"Accept-Encoding": "gzip"}
        etag, size = _first(port, path, headers)
        page = _rate(port, path, headers, 200)
        again = _rate(port, path, {**headers, "If-None-Match": etag}, 304)
        least = _rate(port, "/alive", headers, 200)
    print(f"{os.cpu_count()} cores, {CLIENTS} clients, {SECONDS:.0f} s each, {size / 1000:.1f} kB on the wire")
    print(f"{'shared page, from cache':34} {page:8,.0f} a second")
    print(f"{'revalidated, 304':34} {again:8,.0f} a second")
    print(f"{'/alive, the least there is':34} {least:8,.0f} a second, {least / page:.1f} times the page")
    print(f"{'limit':34} {LIMIT_PER_S:8} a second: {'within' if page >= LIMIT_PER_S else 'BELOW'}")
    return 0 if page >= LIMIT_PER_S else 1


@contextmanager
def _served() -> Iterator[tuple[int, str]]:
    """Yield the port of a server with one link, and the link's token."""
    account = accounts.for_clone(CLONE)
    folder = Path(tempfile.mkdtemp(prefix="benchhub-bench-"))
    account.own(folder)
    processes = Processes(folder, marker=f"bench-{secrets.token_hex(6)}")
    try:
        build = programs.builds(account)[18]
        cluster = Cluster("warehouse", folder / "warehouse", build, ports.free_port(), account)
        cluster.create(processes)
        cluster.start(processes)
        environment = _environment(cluster.url)
        _manage(environment, "migrate", "-v", "0")
        token = _manage(environment, "shell", "-v", "0", "-c", PUBLISH).split()[-1]
        with _web(environment) as port:
            yield port, token
    finally:
        processes.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


def _environment(url: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    settings = {"DATABASE_URL": url, "SECRET_KEY": secrets.token_hex(), "LOG_LEVEL": "WARNING"}
    return {**inherited, **settings, "DJANGO_SETTINGS_MODULE": "benchhub.settings"}


def _manage(environment: Mapping[str, str], *words: str) -> str:
    command = [sys.executable, str(CLONE / "manage.py"), *words]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


@contextmanager
def _web(environment: Mapping[str, str]) -> Iterator[int]:
    port = ports.free_port()
    command = [sys.executable, "-m", "benchhub.serve", "--listen", f"127.0.0.1:{port}", "--processes", "2"]
    server = subprocess.Popen(command, env=environment, cwd=CLONE, stderr=subprocess.DEVNULL)
    try:
        _wait(port)
        yield port
    finally:
        server.terminate()
        server.wait(30)


def _wait(port: int) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            _first(port, "/alive", {})
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
        else:
            return


def _first(port: int, path: str, headers: Mapping[str, str]) -> tuple[str, int]:
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", path, headers=dict(headers))
        answer = connection.getresponse()
        return answer.headers.get("ETag", ""), len(answer.read())


def _rate(port: int, path: str, headers: Mapping[str, str], status: int) -> float:
    """Return answers a second over all clients, each on a connection of its own; every one must have this status."""
    _first(port, path, headers)
    with ProcessPoolExecutor(CLIENTS) as pool:
        counts = list(pool.map(_ask, [(port, path, dict(headers), status)] * CLIENTS))
    return sum(counts) / SECONDS


def _ask(request: tuple[int, str, dict[str, str], int]) -> int:
    port, path, headers, status = request
    count, until = 0, time.monotonic() + SECONDS
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        while time.monotonic() < until:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status != status:
                raise RuntimeError(f"{path} answered {answer.status} instead of {status}")
            count += 1
    return count


if __name__ == "__main__":
    sys.exit(main())
