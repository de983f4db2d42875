"""Measure how many results a second come in over HTTP, beside another Django site that takes results in.

A web process of its own (as in production) with a warehouse of its own takes bulk requests of 1,000 results
each over the loopback: parsed numbers, and the output that pgbench printed. Limit: 1,000 results a second.
codespeed gets the same numbers in the same run by its own bulk request, from the same clients, with a database in the
same PostgreSQL; where it cannot be installed, the reason is printed. Client, server and database share the machine.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.fernet import Fernet

from benchhub.embedded import account as accounts
from benchhub.embedded import ports, programs
from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import Processes
from benchmarks import codespeed, web
from benchmarks.web import Door

CLONE = Path(__file__).resolve().parent.parent
LIMIT_PER_S = 1000
LINES, REQUESTS, CLIENTS = 1000, 5, 2
SETUP = """
import json, sys
from datetime import timedelta
from django.utils import timezone
from django.contrib.auth import get_user_model
from benchhub.accounts import tokens
from benchhub.catalog.models import Configuration, Hardware, Workload
user = get_user_model().objects.create_superuser("bench")
Hardware.objects.create(name="CI machine", sockets=1, cores_per_socket=8)
Configuration.objects.create(name="defaults", settings={"fsync": "on"})
parameters = {"script": "select-only", "query_mode": "simple", "scale": 10}
Workload.objects.create(name="select-only", tool="pgbench", parameters=parameters)
print(tokens.issue(user, "bench", ["ingest", "read"], timezone.now() + timedelta(days=1))[1])
"""


@dataclass(frozen=True)
class Served:
    """A BenchHub that takes results in at `door`, with its warehouse at `url`."""

    door: Door
    url: str


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="benchhub-api-") as folder, _served(Path(folder)) as served:
        rates = {kind: _rate(served.door, _bodies(kind)) for kind in ("numbers", "output")}
        peer = _peer(served.url)
    for kind, rate in rates.items():
        verdict = "ok" if rate >= LIMIT_PER_S else "TOO SLOW"
        conditions = f"{CLIENTS} clients, {LINES:,} a request (limit {LIMIT_PER_S:,})"
        print(f"{kind:>9}: {rate:7,.0f} results/s, {conditions}  {verdict}")
    if isinstance(peer, str):
        print(f"codespeed: not measured, {codespeed.VERSION} does not run here. {peer}")
    else:
        times = f"BenchHub takes {rates['numbers'] / peer:.1f} times as many numbers"
        print(f"codespeed: {peer:7,.0f} results/s, {codespeed.VERSION} on {codespeed.BESIDE[0]}: {times}")
    return 0 if min(rates.values()) >= LIMIT_PER_S else 1


def _peer(url: str) -> float | str:
    """Return results a second, or why there is no number."""
    with tempfile.TemporaryDirectory(prefix="benchhub-codespeed-") as folder:
        try:
            with codespeed.served(Path(folder), url) as door:
                requests = range(CLIENTS + 1)  # it takes a minute for what BenchHub takes in a second or two
                return _rate(door, [codespeed.body(results("numbers", n), n) for n in requests])
        except (codespeed.NotHereError, web.NoAnswerError, OSError) as error:
            return str(error)


@contextmanager
def _served(folder: Path) -> Iterator[Served]:
    with warehouse(folder) as url:
        environment = environment_of(url)
        manage(environment, "migrate", "--verbosity", "0")
        token = manage(environment, "shell", "--verbosity", "0", "-c", SETUP).split()[-1]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"}
        with web.served(Path(sys.executable), "benchhub.wsgi", CLONE, environment) as port:
            yield Served(Door(port, "/api/v1/deliveries/", headers, taken=201), url)


@contextmanager
def warehouse(folder: Path) -> Iterator[str]:
    """Yield the address of an empty warehouse, a server of its own in this folder."""
    account = accounts.for_clone(CLONE)
    account.own(folder)
    processes = Processes(folder, marker=f"bench-{secrets.token_hex(4)}")
    try:
        cluster = Cluster("warehouse", folder / "pg", programs.builds(account)[18], ports.free_port(), account)
        cluster.create(processes)
        cluster.start(processes)
        yield cluster.url
    finally:
        processes.stop_all()


def environment_of(url: str) -> dict[str, str]:
    """Return the environment of a web process with this warehouse, and no broker."""
    return os.environ | {
        "DATABASE_URL": url,
        "SECRET_KEY": secrets.token_hex(),
        "FIELD_KEYS": Fernet.generate_key().decode(),
        "BROKER_URL": "redis://127.0.0.1:1/0",
        "LOG_LEVEL": "WARNING",
    }


def manage(environment: dict[str, str], *words: str) -> str:
    """Return what the command of manage.py prints."""
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(command, cwd=CLONE, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def _rate(door: Door, bodies: list[bytes]) -> float:
    return LINES * (len(bodies) - 1) / web.seconds(door, bodies, CLIENTS)


def _bodies(kind: str) -> list[bytes]:
    return ["\n".join(map(json.dumps, results(kind, n))).encode() for n in range(CLIENTS * REQUESTS + 1)]


def results(kind: str, request: int) -> list[dict[str, object]]:
    """Return results of 50 levels, 20 repeats each, as a sweep gives them."""
    return [_line(kind, request, number) for number in range(LINES)]


def _line(kind: str, request: int, number: int) -> dict[str, object]:
    clients = 1 + number % 50
    tps = 1000.0 * clients + number
    result: dict[str, object] = {"output": {"stdout": _printed(clients, tps)}}
    if kind == "numbers":
        result = {"numbers": {"throughput": tps, "unit": "TPS", "latency_average_ms": 1000 * clients / tps}}
    return {
        "experiment": f"{kind} {request}",
        "source": "https://ci.example.org/jobs/1",
        "workload": "select-only",
        "client_version": "18.1",
        "clients": clients,
        "duration_s": 60,
        "measured_at": "2026-01-31T02:00:00Z",
        "system": {
            "host": "ci-1",
            "hardware": "CI machine",
            "configuration": "defaults",
            "postgresql": "18.1",
            "path": "socket",
        },
        **result,
    }


def _printed(clients: int, tps: float) -> str:
    return (
        "pgbench (18.1)\ntransaction type: <builtin: select only>\nscaling factor: 10\nquery mode: simple\n"
        f"number of clients: {clients}\nnumber of threads: {clients}\nmaximum number of tries: 1\nduration: 60 s\n"
        f"number of transactions actually processed: {tps * 60:.0f}\nnumber of failed transactions: 0 (0.000%)\n"
        f"latency average = {1000 * clients / tps:.3f} ms\ninitial connection time = 12.000 ms\n"
        f"tps = {tps:.6f} (without initial connection time)\n"
    )


if __name__ == "__main__":
    sys.exit(main())
