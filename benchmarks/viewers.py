"""Measure what 1, 20 and 200 people who look at a run under way cost one web process.

A web process of its own (as in production) with a warehouse of its own serves the pages of a run under load. A viewer
does what a page does: it asks for the feed and for the page every five seconds, with what it has already. For each
number of viewers: what an answer takes of CPU, what that is of a core at the rate at which so many ask, the median
answer, and how many answers had a body. Limit: 200 viewers take at most half of a core.
"""

from __future__ import annotations

import os
import re
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path

from benchmarks import web
from benchmarks.api import CLONE, environment_of, manage, warehouse

NUMBERS = (1, 20, 200)
MEASURED_S = 20
ASK_EVERY_S = 5.0
ASKED = 2  # the feed and the page
LIMIT_CORES = 0.5
VERSION = re.compile(r'BenchHub-Version": "(\w+)"')
SETUP = """
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone
from benchhub.bench import testing
from benchhub.bench.models import LiveLog, Run, Watch
from benchhub.catalog.models import Hardware
client = Client()
client.force_login(get_user_model().objects.create_superuser("bench"))
system = testing.make_system("18", testing.make_host(), Hardware.objects.create(sockets=1, cores_per_socket=8))
experiment = testing.make_experiment([system])
for clients in (1, 2, 4, 8):
    for repeat in (1, 2, 3):
        testing.succeeded(testing.make_run(experiment, system, clients, repeat), 1000.0 * clients + repeat)
run = testing.make_run(experiment, system, 16, 1)
for state in ("reserved", "starting", "running"):
    Run.objects.filter(pk=run.pk).update(state=state, started_at=timezone.now())
log = b"".join(b"progress: %d.0 s, %d.0 tps, lat 1.0 ms stddev 0.1, 0 failed\\n" % (i, 9000 + i) for i in range(1, 600))
Watch.objects.create(run=run, step="measure")
LiveLog.objects.create(attempt=run.attempts.create(number=1), stream="err", content=log, end_offset=len(log))
print(run.pk, run.experiment_id, client.cookies["sessionid"].value)
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A web process with a run under load: its port, its process, and the page and feed of each kind."""

    port: int
    process: int
    cookie: str
    pages: Mapping[str, str]


@dataclass
class Answers:
    """What viewers were answered: times in ms, and how many answers had a body."""

    times_ms: list[float] = field(default_factory=list)
    bodies: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, time_ms: float, has_body: bool) -> None:
        with self.lock:
            self.times_ms.append(time_ms)
            self.bodies += has_body


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="benchhub-viewers-") as folder, warehouse(Path(folder)) as url:
        environment = environment_of(url)
        manage(environment, "migrate", "--verbosity", "0")
        run, experiment, cookie = manage(environment, "shell", "--verbosity", "0", "-c", SETUP).split()[-3:]
        with web.served(Path(sys.executable), "benchhub.wsgi", CLONE, environment) as port:
            pages = {"a run": f"/runs/{run}/", "an experiment": f"/experiments/{experiment}/"}
            site = Site(port, _process_at(port), f"sessionid={cookie}", pages)
            is_within = [_measure(site, name, number) for name in site.pages for number in NUMBERS]
    return 0 if all(is_within) else 1


def _measure(site: Site, name: str, number: int) -> bool:
    answers, end = Answers(), threading.Event()
    path, version = site.pages[name], _version(site, site.pages[name])
    threads = [
        threading.Thread(target=_view, args=(site, path, version, answers, end, i / number)) for i in range(number)
    ]
    before_s = _cpu_s(site.process)
    for thread in threads:
        thread.start()
    time.sleep(MEASURED_S)
    answer_s = (_cpu_s(site.process) - before_s) / max(1, len(answers.times_ms))
    end.set()
    for thread in threads:
        thread.join()
    cores = answer_s * ASKED * number / ASK_EVERY_S
    counts = f"{len(answers.times_ms):4} answers, {answers.bodies:3} with a body, median"
    times = f"{1000 * answer_s:4.1f} ms of CPU each: {cores:.3f} cores"
    verdict = "within" if cores <= LIMIT_CORES else "OVER"
    print(f"{number:3} viewers of {name:13}: {times}; {counts} {statistics.median(answers.times_ms):.0f} ms  {verdict}")
    return cores <= LIMIT_CORES


def _view(site: Site, path: str, version: str, answers: Answers, end: threading.Event, phase: float) -> None:
    """Ask as a page does until the end; `phase` spreads the viewers over an interval."""
    etag = ""
    is_over = end.wait(phase * ASK_EVERY_S)
    while not is_over:
        begun_s = time.monotonic()
        headers = {"Cookie": site.cookie, "BenchHub-Refresh": "1"}
        etag = _ask(site, f"{path}live", headers | {"If-None-Match": etag}, answers)
        version = _ask(site, path, headers | {"BenchHub-Version": version}, answers) or version
        is_over = end.wait(max(0.0, ASK_EVERY_S - (time.monotonic() - begun_s)))


def _ask(site: Site, path: str, headers: dict[str, str], answers: Answers) -> str:
    """Return the tag of a feed or the version of a page, empty where nothing came; note how long it took."""
    begun_s = time.perf_counter()
    with closing(HTTPConnection("127.0.0.1", site.port, timeout=30)) as connection:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        body = response.read()
    answers.note((time.perf_counter() - begun_s) * 1000, bool(body))
    if response.status not in (200, 204, 304):
        raise SystemExit(f"{path} answered {response.status}.")
    match = VERSION.search(body.decode())
    return match[1] if match else response.headers.get("ETag", "")


def _version(site: Site, path: str) -> str:
    with closing(HTTPConnection("127.0.0.1", site.port, timeout=30)) as connection:
        connection.request("GET", path, headers={"Cookie": site.cookie})
        match = VERSION.search(connection.getresponse().read().decode())
    if match is None:
        raise SystemExit(f"{path} has no version.")
    return match[1]


def _process_at(port: int) -> int:
    """Return the child of this process that listens at the port."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"127.0.0.1:{port}".encode() in words:
            return int(process.name)
    raise SystemExit("The web process is not there.")


def _cpu_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
