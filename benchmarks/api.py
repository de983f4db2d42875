"""How many results a second come in over HTTP, and how quickly a shared page is answered from cache.

A web process of its own (gunicorn, as in production) with a warehouse of its own takes bulk requests of 1,000 results
each over the loopback: parsed numbers, and the output that pgbench printed. Limit: 1,000 results a second.
Client, server and database share the machine.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from cryptography.fernet import Fernet

from benchhub.embedded import account as accounts
from benchhub.embedded import ports, programs
from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import Processes

CLONE = Path(__file__).resolve().parent.parent
LIMIT_PER_S = 1000
LINES, REQUESTS, CLIENTS = 1000, 5, 2
PATIENCE_S = 60
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
    """A BenchHub that answers at `port`, and a token that may bring results in."""

    port: int
    token: str


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="benchhub-api-") as folder, _served(Path(folder)) as served:
        rates = {kind: _rate(served, kind) for kind in ("numbers", "output")}
    for kind, rate in rates.items():
        verdict = "ok" if rate >= LIMIT_PER_S else "TOO SLOW"
        said = f"{CLIENTS} clients, {LINES:,} a request (limit {LIMIT_PER_S:,})"
        print(f"{kind:>8}: {rate:7,.0f} results/s, {said}  {verdict}")
    return 0 if min(rates.values()) >= LIMIT_PER_S else 1


@contextmanager
def _served(folder: Path) -> Iterator[Served]:
    account = accounts.for_clone(CLONE)
    account.own(folder)
    processes = Processes(folder, marker=f"api-{secrets.token_hex(4)}")
    try:
        cluster = Cluster("warehouse", folder / "pg", programs.builds(account)[18], ports.free_port(), account)
        cluster.create(processes)
        cluster.start(processes)
        environment = os.environ | {
            "DATABASE_URL": cluster.url,
            "SECRET_KEY": secrets.token_hex(),
            "FIELD_KEYS": Fernet.generate_key().decode(),
            "BROKER_URL": "redis://127.0.0.1:1/0",
            "LOG_LEVEL": "WARNING",
        }
        _manage(environment, "migrate", "--verbosity", "0")
        token = _manage(environment, "shell", "--verbosity", "0", "-c", SETUP).split()[-1]
        with _web(environment) as port:
            yield Served(port, token)
    finally:
        processes.stop_all()


def _manage(environment: dict[str, str], *words: str) -> str:
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(command, cwd=CLONE, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


@contextmanager
def _web(environment: dict[str, str]) -> Iterator[int]:
    port = ports.free_port()
    words = ["gunicorn", "benchhub.wsgi", "--bind", f"127.0.0.1:{port}", "--workers", "1", "--threads", "8"]
    web = subprocess.Popen([sys.executable, "-m", *words, "--log-level", "warning"], cwd=CLONE, env=environment)
    try:
        _wait_for(port)
        yield port
    finally:
        web.terminate()
        web.wait(PATIENCE_S)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/alive")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("The web process does not answer.")


def _rate(served: Served, kind: str) -> float:
    """Over all requests of all clients, after a first one that fills what the process remembers."""
    bodies = [_lines(kind, number) for number in range(CLIENTS * REQUESTS + 1)]
    _send(served, bodies[:1])
    begun = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda n: _send(served, bodies[1 + n :: CLIENTS]), range(CLIENTS)))
    return LINES * (len(bodies) - 1) / (time.perf_counter() - begun)


def _send(served: Served, bodies: Sequence[bytes]) -> None:
    connection = HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_S)
    headers = {"Authorization": f"Bearer {served.token}", "Content-Type": "application/x-ndjson"}
    for body in bodies:
        connection.request("POST", "/api/v1/deliveries/", body, headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 201:
            raise SystemExit(f"{answer.status}: {text[:500].decode()}")


def _lines(kind: str, request: int) -> bytes:
    """Results of 50 levels, 20 repeats each, as a sweep would give them."""
    return "\n".join(json.dumps(_line(kind, request, number)) for number in range(LINES)).encode()


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
