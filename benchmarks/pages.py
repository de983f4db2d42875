"""Measure how quick and how heavy each page of the demonstration is, as a browser meets it.

For every page that links lead to: the time of the answer (median and worst of 20 requests; limit 200 ms), and what goes
over the wire, headers and static files included, for a browser that comes for the first time (limit 450 kB) and for
one that has the static files already (limit 30 kB). Static files must come compressed, and cached for ever by their
hash. Uses the demonstration that runs, or starts one.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page, Response

from benchmarks.demonstration import Demonstration, chromium, demonstration, pages, sign_in
from benchmarks.machine import undisturbed

REQUESTS = 20
LIMIT_MS = 200
FIRST_LIMIT_KB, AGAIN_LIMIT_KB = 450, 30
SETTLE_MS = 500
COMPRESSIBLE = ("text/", "application/javascript", "image/svg")
FOR_EVER = "max-age=315360000"


@dataclass(frozen=True)
class Measured:
    """One page: how long its answer takes, and how many bytes it moves for a browser without and with a cache."""

    name: str
    median_ms: float
    worst_ms: float
    first_kb: float
    again_kb: float

    @property
    def is_within(self) -> bool:
        return self.worst_ms < LIMIT_MS and self.first_kb < FIRST_LIMIT_KB and self.again_kb < AGAIN_LIMIT_KB


def main() -> int:
    with demonstration() as demo, chromium() as browser:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        tab = sign_in(context, demo)
        faults: dict[str, str] = {}
        tab.on("response", lambda response: faults.update(_static_faults(response)))
        measured = [_measure(tab, demo, name, address) for name, address in pages(tab, demo).items()]
        _print(measured, faults)
        return 0 if not faults and all(page.is_within for page in measured) else 1


def _measure(tab: Page, demo: Demonstration, name: str, address: str) -> Measured:
    times_ms = undisturbed(lambda: _times_ms(tab.context, demo, address), name)
    with _wire(tab) as moved:
        first_kb = _visit(tab, demo.url + address, moved)
        again_kb = _visit(tab, demo.url + address, moved)
    return Measured(name, statistics.median(times_ms), max(times_ms), first_kb, again_kb)


def _times_ms(context: BrowserContext, demo: Demonstration, address: str) -> list[float]:
    """Return the times to the last byte, on one connection; the first answer, which warms up, is left out."""
    cookie = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in context.cookies())
    headers = {"Cookie": cookie, "Accept-Encoding": "gzip"}
    with closing(HTTPConnection(urlsplit(demo.url).netloc, timeout=30)) as connection:
        return [_time_ms(connection, address, headers) for _ in range(REQUESTS + 1)][1:]


def _time_ms(connection: HTTPConnection, address: str, headers: dict[str, str]) -> float:
    start = time.perf_counter()
    connection.request("GET", address, headers=headers)
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{address} answered {answer.status}")
    return (time.perf_counter() - start) * 1000


@contextmanager
def _wire(tab: Page) -> Iterator[list[int]]:
    """Yield the bytes of each answer as they come in, with headers and still compressed; the cache starts empty."""
    moved: list[int] = []
    session = tab.context.new_cdp_session(tab)
    session.send("Network.enable")
    session.send("Network.clearBrowserCache")
    session.on("Network.loadingFinished", lambda event: moved.append(event["encodedDataLength"]))
    yield moved
    session.detach()


def _visit(tab: Page, url: str, moved: list[int]) -> float:
    moved.clear()
    tab.goto(url, wait_until="load")
    tab.wait_for_timeout(SETTLE_MS)
    return sum(moved) / 1000


def _static_faults(response: Response) -> dict[str, str]:
    """Return address -> what is wrong with how a static file is served."""
    path = urlsplit(response.url).path
    if not path.startswith("/static/"):
        return {}
    headers = response.headers
    if FOR_EVER not in headers.get("cache-control", ""):
        return {path: "is not cached for ever"}
    if headers.get("content-type", "").startswith(COMPRESSIBLE) and "content-encoding" not in headers:
        return {path: "is not compressed"}
    return {}


def _print(measured: list[Measured], faults: dict[str, str]) -> None:
    width = max(len(page.name) for page in measured)
    print(f"{'page':{width}}  median ms  worst ms  first kB  again kB")
    for page in measured:
        figures = f"{page.median_ms:9.1f} {page.worst_ms:9.1f} {page.first_kb:9.1f} {page.again_kb:9.1f}"
        print(f"{page.name:{width}}  {figures}  {'within' if page.is_within else 'OVER'}")
    print(f"{'limit':{width}}  {'':9} {LIMIT_MS:9} {FIRST_LIMIT_KB:9} {AGAIN_LIMIT_KB:9}")
    for path, fault in faults.items():
        print(f"{path} {fault}")
    print("Static files: " + ("see above" if faults else "compressed, and cached for ever by their hash"))


if __name__ == "__main__":
    sys.exit(main())
