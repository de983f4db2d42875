"""What a web process goes through beside a warehouse of many runs: killed while results come in, and read for minutes.

`make bench-warehouse KILLS=20 MINUTES=10` does both at its largest size. A delivery whose process is killed (`kill -9`)
at a moment that the seed chooses must be stored whole or not at all, and once when it is sent again with its key.
Readers ask for all addresses in turns of their own. Limits: every request has a good answer until the time is over, and
the process has at the end at most GROWTH times the memory (PSS) that it had after the first fifth of the time.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from benchmarks import api, web
from benchmarks.memory import family, pss_mb

LINES, READERS, GROWTH, PATIENCE_S = 2000, 4, 1.1, 600
MOST_REDIRECTS = 5
AGAIN_S = 0.1  # after a request without an answer
SAMPLES = 60
DELIVERIES = "/api/v1/deliveries/"


@contextmanager
def _web() -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    with web.process(Path(sys.executable), web.OWN_SERVER, api.CLONE, os.environ) as served:
        yield served


# --- killed while results come in --------------------------------------------------------------------------------


def kills(number: int, seed: int) -> bool:
    """Kill a web process so many times, each while it takes LINES results; tell whether nothing was lost or halved."""
    draw, token = random.Random(seed), _token()
    before = _stored()
    whole_s, outcomes, faults = _undisturbed_s(token), [], []
    for kill in range(1, number + 1):
        with _web() as (port, child):
            faults += _faults_again(port, token, kill - 1, before)
            before = _stored()
            sending = threading.Thread(target=_send, args=(port, token, kill))
            sending.start()
            time.sleep(draw.uniform(0, 1.1) * whole_s)  # killed at any moment of it, or after
            child.kill()
            sending.join()
        after = _stored_when_idle()
        outcomes.append("whole" if after != before else "none")
        faults += _faults(kill, "killed", before, after, {0, LINES})
    with _web() as (port, _):
        faults += _faults_again(port, token, number, before)
    whole = outcomes.count("whole")
    print(f"{number} kills (seed {seed}) within {whole_s:.1f} s: {whole} stored whole, {number - whole} not at all")
    print("\n".join(faults) or "nothing lost, halved or doubled, also when it was sent again")
    return not faults


def _faults_again(port: int, token: str, kill: int, before: Counts) -> list[str]:
    """Send a delivery again with its key; say what is not as it should be then."""
    status = _send(port, token, kill)
    faults = [] if status == 201 else [f"kill {kill}: sent again it was answered {status}"]
    return [*faults, *_faults(kill, "sent again", before, _stored(), {LINES})]


def _faults(kill: int, moment: str, before: Counts, after: Counts, allowed: set[int]) -> list[str]:
    """Say what is not as it should be: runs, results, attempts and tallies of one number, and a delivery for them."""
    runs, *others, deliveries = (later - earlier for earlier, later in zip(before, after, strict=True))
    if runs in allowed and set(others) == {runs} and deliveries == bool(runs):
        return []
    return [f"kill {kill}, {moment}: {runs} runs; attempts, results, tallied: {others}; {deliveries} deliveries"]


Counts = tuple[int, ...]


def _stored() -> Counts:
    from django.db.models import Sum

    from benchhub.bench.models import Attempt, Delivery, Result, Run, RunTally

    tallied = RunTally.objects.aggregate(total=Sum("runs"))["total"]
    return (*(model.objects.count() for model in (Run, Attempt, Result)), tallied, Delivery.objects.count())


def _stored_when_idle() -> Counts:
    """Count once the server has ended what the process had begun: it may not know yet that this is gone."""
    from django.db import connection

    others = "SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND pid <> pg_backend_pid()"
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        with connection.cursor() as cursor:
            cursor.execute(others)
            if cursor.fetchone() == (0,):
                return _stored()
        time.sleep(0.1)
    raise SystemExit("The server is still at work for a process that was killed.")


def _undisturbed_s(token: str) -> float:
    with _web() as (port, _):
        begun_s = time.perf_counter()
        if (status := _send(port, token, 0)) != 201:
            raise SystemExit(f"A delivery was answered {status}.")
        return time.perf_counter() - begun_s


def _token() -> str:
    from datetime import timedelta

    from django.contrib.auth import get_user_model
    from django.utils import timezone

    from benchhub.accounts import tokens
    from benchhub.catalog.models import Configuration, Hardware, Workload

    # The prototype of the warehouse may have some of these by the same names.
    Hardware.objects.get_or_create(name="CI machine", defaults={"sockets": 1, "cores_per_socket": 8})
    Configuration.objects.get_or_create(name="defaults", defaults={"settings": {"fsync": "on"}})
    parameters = {"script": "select-only", "query_mode": "simple", "scale": 10}
    Workload.objects.get_or_create(name="select-only", defaults={"tool": "pgbench", "parameters": parameters})
    user = get_user_model().objects.get(username="ada")
    return tokens.issue(user, "bench", ["ingest"], timezone.now() + timedelta(days=1))[1]


def _send(port: int, token: str, delivery: int) -> int:
    """Send LINES results under a key of their own; return the status of the answer, 0 for none."""
    lines = (api.results("numbers", 2 * delivery + half) for half in range(LINES // api.LINES))
    body = "\n".join(json.dumps(line) for part in lines for line in part).encode()
    headers = {
        "Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson", "Host": "localhost",
        "Idempotency-Key": f"{token[-8:]}-{delivery}",
    }  # fmt: skip
    try:
        with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
            connection.request("POST", DELIVERIES, body, headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status
    except (OSError, HTTPException):
        return 0


# --- read for minutes --------------------------------------------------------------------------------------------


@dataclass
class Reading:
    """What readers have got so far: their requests, a text for each without a good answer, and samples in MB."""

    ends_s: float
    requests: int = 0
    bad: list[str] = field(default_factory=list)
    sizes_mb: list[float] = field(default_factory=list)


def readers(minutes: float, addresses: Sequence[str], seed: int) -> bool:
    """Read the addresses for so many minutes, by READERS at once; tell whether the limits are kept."""
    with _web() as (port, child):
        reading = Reading(ends_s=time.monotonic() + 60 * minutes)
        headers = {"Cookie": _cookie(), "Host": "localhost"}
        draws = (random.Random(seed + number) for number in range(READERS))
        with ThreadPoolExecutor(READERS) as pool:
            futures = [pool.submit(_read_on, port, headers, addresses, draw, reading) for draw in draws]
            for _ in range(SAMPLES):
                time.sleep(60 * minutes / SAMPLES)  # memory is read so many times
                reading.sizes_mb.append(sum(map(pss_mb, family(child.pid))))
        reading.requests = sum(future.result() for future in futures)  # raises what ended a reader too early
    return _is_steady(minutes, reading)


def _is_steady(minutes: float, reading: Reading) -> bool:
    fifth = SAMPLES // 5
    begin_mb, end_mb = max(reading.sizes_mb[:fifth]), max(reading.sizes_mb[-fifth:])
    growth = end_mb / begin_mb
    bad = len(reading.bad)
    print(f"{READERS} readers for {minutes:g} minutes: {reading.requests:,} requests, {bad} without a good answer")
    print(f"memory {begin_mb:.0f} MB after a fifth of it, {end_mb:.0f} MB at the end: {growth:.3f} (limit {GROWTH})")
    for text in sorted(set(reading.bad))[:10]:
        print(text)
    return not reading.bad and growth <= GROWTH


def _read_on(
    port: int, headers: Mapping[str, str], addresses: Sequence[str], draw: random.Random, reading: Reading
) -> int:
    """Read until the time is over; return how many requests that were."""
    requests = 0
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
        for address in _in_turns(addresses, draw, reading.ends_s):
            requests += 1
            if fault := _fault(connection, address, headers):
                reading.bad.append(f"{address}: {fault}")
    return requests


def _in_turns(addresses: Sequence[str], draw: random.Random, ends_s: float) -> Iterator[str]:
    """Yield all addresses in an order of their own, again and again until the time is over."""
    while True:
        for address in draw.sample(addresses, len(addresses)):
            if time.monotonic() >= ends_s:
                return
            yield address


def _fault(connection: HTTPConnection, address: str, headers: Mapping[str, str]) -> str:
    """Say what is bad about the answer, or the one that it leads to; empty for nothing. The connection goes on."""
    try:
        status = _status(connection, address, headers)
    except (OSError, HTTPException) as error:
        connection.close()  # the next request opens it again
        time.sleep(AGAIN_S)  # a server that is gone is not asked in a loop
        return f"no answer: {error!r}"
    return "" if status == 200 else str(status)


def _status(connection: HTTPConnection, address: str, headers: Mapping[str, str]) -> int:
    """Return the status of the answer, or of the one that it leads to: after MOST_REDIRECTS that of a redirect."""
    for _ in range(MOST_REDIRECTS + 1):
        connection.request("GET", address, headers=dict(headers))
        answer = connection.getresponse()
        answer.read()
        target = answer.getheader("Location", "")
        if not target or answer.status not in (301, 302):
            break
        address = target
    return answer.status


def _cookie() -> str:
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    client: Any = Client(headers={"host": "localhost"})
    client.force_login(get_user_model().objects.get(username="ada"))
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
