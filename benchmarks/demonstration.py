"""Open the demonstration as a browser meets it: start it, sign in, and find its pages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from django import setup
from django.urls import Resolver404, resolve, reverse
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from benchhub.demo import state
from benchhub.demo.servers import USERNAME
from benchhub.embedded import account
from benchhub.reports.sharing.output import pdf

CLONE = Path(__file__).resolve().parent.parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
NOT_PAGES = {"login", "logout"}
STOP_PATIENCE_S = 90


@dataclass(frozen=True)
class Demonstration:
    url: str
    username: str
    password: str


@contextmanager
def demonstration() -> Iterator[Demonstration]:
    """Yield the demonstration of this clone: the one that runs, or one that lives as long as the block."""
    url = _running_url()
    own = None if url else _start()
    try:
        password = state.load_secrets(account.for_clone(CLONE)).demo_password
        yield Demonstration(url or _running_url(), USERNAME, password)
    finally:
        if own is not None:
            own.send_signal(signal.SIGINT)
            own.wait(STOP_PATIENCE_S)


def _running_url() -> str:
    """Return the address, empty when nothing runs. Raises SystemExit when the demonstration does not serve yet."""
    (CLONE / "var").mkdir(mode=0o700, exist_ok=True)
    try:
        with state.only_one(CLONE / "var"):
            return ""
    except state.AlreadyRunningError as running:
        if not running.url:
            sys.exit(str(running))
        return running.url


def _start() -> subprocess.Popen[str]:
    """Start one and wait until it serves, its experiment measured."""
    print("Starting a demonstration ...", flush=True)
    command = [sys.executable, "-m", "benchhub.demo", "up"]
    demo = subprocess.Popen(command, cwd=CLONE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert demo.stdout is not None
    lines = []
    for line in demo.stdout:
        lines.append(line)
        if line.startswith("Ctrl-C"):
            return demo
    sys.exit("The demonstration did not start:\n" + "".join(lines[-5:]))


@contextmanager
def chromium() -> Iterator[Browser]:
    program = pdf.program()
    if program is None:
        sys.exit("Chromium is not installed: install the package chromium-headless-shell.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


def sign_in(context: BrowserContext, demo: Demonstration) -> Page:
    """Return a tab that shows the home page of the demonstration."""
    tab = context.new_page()
    tab.goto(demo.url + "/login/")
    tab.fill("[name=username]", demo.username)
    tab.fill("[name=password]", demo.password)
    tab.click("form:has([name=password]) [type=submit]")
    tab.wait_for_url(demo.url + "/")
    return tab


def pages(tab: Page, demo: Demonstration) -> dict[str, str]:
    """Return name in urls.py -> address of every page that links lead to from the home page; of many alike, the first.

    `comparison` is `compare` with the curves of the first experiment.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchhub.settings")
    setup()
    addresses, names = {"home": "/"}, {"home"}
    for address in (waiting := ["/"]):
        tab.goto(demo.url + address)
        for link in _links(tab, demo):
            name = _name(link)
            if name and name not in names:
                names.add(name)
                if _is_page(tab, demo.url + link):
                    addresses[name] = link
                    waiting.append(link)
    if "compare" in addresses and "experiment" in addresses:
        addresses["comparison"] = _comparison(tab, demo, addresses["experiment"])
    return addresses


def _comparison(tab: Page, demo: Demonstration, experiment: str) -> str:
    """Return the address of the comparison of an experiment's curves, to which no single link leads."""
    tab.goto(f"{demo.url}{reverse('compare')}?experiment={resolve(experiment).kwargs['pk']}")
    return tab.url.removeprefix(demo.url)


def _links(tab: Page, demo: Demonstration) -> list[str]:
    """Return addresses on this site, in the order of the page, without what follows a #."""
    links: list[str] = tab.eval_on_selector_all("a[href]", "links => links.map(link => link.href.split('#')[0])")
    return [link.removeprefix(demo.url) for link in links if link.startswith(demo.url + "/")]


def _name(address: str) -> str:
    """Return a page's name in urls.py; empty for what is no page of ours."""
    try:
        name = resolve(urlsplit(address).path).url_name or ""
    except Resolver404:
        return ""
    return "" if name in NOT_PAGES else name


def _is_page(tab: Page, url: str) -> bool:
    """Tell whether there is a page to look at, not a file to save, nor a way to another page."""
    answer = tab.context.request.get(url)
    is_file = "attachment" in answer.headers.get("content-disposition", "")
    is_html = answer.headers.get("content-type", "").startswith("text/html")
    return answer.ok and is_html and not is_file and answer.url == url
