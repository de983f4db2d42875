"""Servers for the tests: each starts when the first test asks for it and is stopped at the end of the session."""

from __future__ import annotations

import fcntl
import gc
import os
import re
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.template import Context, Template
from django.test import Client
from hypothesis import HealthCheck
from hypothesis import settings as properties
from whitenoise.middleware import WhiteNoiseMiddleware

from benchhub.database_url import database_settings
from benchhub.embedded import account as accounts
from benchhub.embedded import ports, proc, programs
from benchhub.embedded.account import Account
from benchhub.embedded.broker import Broker
from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import MARKER, Processes
from benchhub.embedded.sshd import SshTarget
from tests import places

CLONE = Path(__file__).resolve().parent
# `make test-whole` sets it: what a test otherwise tries on few examples it tries on all.
WHOLE = os.environ.get("WHOLE", "") not in ("", "0")
DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")

if "SECRET_KEY" not in os.environ:
    settings.SECRET_KEY = secrets.token_hex()
if "FIELD_KEYS" not in os.environ:
    settings.FIELD_KEYS = [Fernet.generate_key().decode()]
# A test may be one transaction from its beginning to its end, however long that takes.
settings.LONGEST_SILENCE_S = 0
# Slow on purpose is the real one, by half a second for each user of a test.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# How long an example takes says what else the machine does, and nothing of the code.
properties.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
properties.load_profile("untimed")

# How long a busy machine may take over a page. A test that fails for another reason than this waits as long.
PATIENCE_MS = 90_000
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


_LINE_BREAK = re.compile(r"(<[^<>]*>)?[ \t]*\n\s*(?=(</?\w+)?)")
_BROKEN_TAG = re.compile(r"<\w[^<>\n]*\n[^<>]*>")
_INLINE = {"a", "abbr", "b", "code", "data", "em", "i", "label", "span", "strong", "time"}


def _as_read(html: str) -> str:
    """Take the indentation of templates out of a page, so that tests need not know how their lines are broken.

    A line break is a space within a sentence, and nothing between elements.
    """
    html = _BROKEN_TAG.sub(lambda tag: re.sub(r"\s*\n\s*", " ", tag[0]), html)
    parts = re.split(r"(<(pre|textarea)\b.*?</\2>)", html, flags=re.S)
    return "".join(
        part if number % 3 else _LINE_BREAK.sub(_line_break, part)
        for number, part in enumerate(parts)
        if number % 3 != 2
    )


def _line_break(match: re.Match[str]) -> str:
    before, after = match[1] or "", match[2] or ""
    if before and after:
        return before
    is_within = (before[:2] == "</" and before[2:-1] in _INLINE) if before else not after or after[1:] in _INLINE
    return before + (" " if is_within else "")


@pytest.fixture(autouse=True, scope="session")
def pages_as_read() -> Iterator[None]:
    """Give tests pages without the white space that no reader sees; what a browser gets stays as it is."""
    request = Client.request

    def read(client: Client, **parameters: Any) -> Any:
        response = request(client, **parameters)
        is_page = response.get("Content-Type", "").startswith("text/html")
        if is_page and not response.streaming and "Content-Encoding" not in response:
            response.content = _as_read(response.content.decode()).strip().encode()
        return response

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "request", read)
        yield


@pytest.fixture(autouse=True, scope="session")
def static_files_listed_once() -> Iterator[None]:
    """Let all test clients share one list of the static files: each made its own, by a look at every file."""
    lists: dict[str, dict[str, Any]] = {}
    list_files = WhiteNoiseMiddleware.add_files_from_finders

    def add_files(middleware: WhiteNoiseMiddleware) -> None:
        if middleware.static_prefix not in lists:
            list_files(middleware)
            lists[middleware.static_prefix] = dict(middleware.files)
        middleware.files.update(lists[middleware.static_prefix])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", add_files)
        yield


@pytest.fixture(autouse=True, scope="session")
def whole_pages_announced(django_test_environment: None) -> Iterator[None]:
    """Give tests the context of the page alone: telling of each field, option and part of it took a ninth of the time.

    They are the templates that are rendered within another one, of which a plan has 1,800.
    """
    announce = Template._render
    here = threading.local()

    def render(template: Template, context: Context) -> str:
        if getattr(here, "is_rendering", False):
            return template.nodelist.render(context)
        here.is_rendering = True
        try:
            return announce(template, context)
        finally:
            here.is_rendering = False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Template, "_render", render)
        yield


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Give `-n auto` two processes more than there are cores: tests of servers and browsers wait for these."""
    return len(os.sched_getaffinity(0)) + 2


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the files that take longest: none is left to one process when the others have ended.

    After each of them comes another file, as most of them wait more than they work: the cores have something to do.
    Tests that are marked `whole` are run by `make test-whole` alone.
    """
    if not WHOLE:
        dropped = [item for item in items if item.get_closest_marker("whole")]
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if not item.get_closest_marker("whole")]
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    long_files = [tests for tests in files.values() if any(test.get_closest_marker("long") for test in tests)]
    others = [tests for tests in files.values() if tests not in long_files]
    pairs = zip_longest(long_files, others, fillvalue=[])
    items[:] = [test for pair in pairs for tests in pair for test in tests]


def pytest_collection_finish() -> None:
    """Take the ten thousand tests out of what the garbage collector looks through, and let it look seldom."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    if getattr(config.option, "dist", "no") == "no":  # this process collects: nothing becomes garbage meanwhile
        gc.disable()
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(config), "failures")


class Failures:
    """Names each failure when it comes, not half an hour later, and the seed that brings the same order again."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.write(f"\nFAILED {report.nodeid} ({report.when})\n", red=True)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        seed = self.config.getoption("randomly_seed", None)
        if seed is not None and (terminalreporter.stats.get("failed") or terminalreporter.stats.get("error")):
            terminalreporter.write_line(f"The same order again: --randomly-seed={seed}")


@contextmanager
def alone() -> Iterator[None]:
    """One process at a time: accounts and programs are made where they are missing."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Headless Chromium as Playwright drives it. Playwright keeps an event loop in this thread meanwhile."""
    from playwright.sync_api import expect, sync_playwright

    from benchhub.reports.sharing.output import pdf

    program = pdf.program()
    if program is None:
        pytest.skip("Chromium is not installed: install the package chromium-headless-shell.")
    with pytest.MonkeyPatch.context() as environment, sync_playwright() as playwright:
        environment.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = playwright.chromium.launch(executable_path=program, args=list(CHROMIUM_FLAGS))
        new_context = browser.new_context

        def patient(**options: Any) -> Any:
            context = new_context(**options)
            context.set_default_timeout(PATIENCE_MS)
            return context

        environment.setattr(browser, "new_context", patient)
        expect.set_options(timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Any, live_server: Any) -> Iterator[Any]:
    """A tab as wide as a phone, whose console must stay silent."""
    context = chromium.new_context(base_url=live_server.url, viewport={"width": 360, "height": 800})
    tab, complaints = context.new_page(), []
    tab.on("console", lambda message: complaints.append(message.text) if is_complaint(message) else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    yield tab
    context.close()
    assert complaints == []


def is_complaint(message: Any) -> bool:
    """Tell whether Chromium finds fault with the page; that a busy machine had set the focus before is none."""
    return message.type != "log" and not message.text.startswith("Autofocus processing was blocked")


def sign_in(page: Any) -> None:
    """Give the tab a session of an administrator; ends on the home page. The form has tests of its own."""
    from django.contrib.auth import get_user_model

    client, name = Client(), settings.SESSION_COOKIE_NAME
    client.force_login(get_user_model().objects.create_superuser("ada", password="engine"))
    origin = page.request.get("/login/").url.removesuffix("login/")
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": origin}])
    page.goto("/")


def is_too_wide(page: Any) -> bool:
    """Tell whether the page, of which there must be a body, is wider than its window."""
    return bool(page.locator("body").evaluate("body => body.parentElement.scrollWidth > innerWidth"))


@dataclass(frozen=True)
class Target:
    """A host that can be logged in to: pin `host_key`, offer `private_key` (OpenSSH format)."""

    address: str
    port: int
    username: str
    host_key: str
    private_key: str
    work_directory: Path


@pytest.fixture(scope="session")
def account() -> Account:
    """Return the account that runs the servers: the present user, or as root a user made for it."""
    with alone():
        return accounts.for_clone(CLONE)


@pytest.fixture(scope="session")
def server_folder(account: Account) -> Iterator[Path]:
    """A folder that the account's user can use, unlike pytest's own when root runs the tests."""
    places.reap(places.SERVERS, places.end_servers)
    with places.held(places.SERVERS) as folder:
        account.own(folder)
        yield folder


@pytest.fixture(scope="session")
def processes(server_folder: Path) -> Iterator[Processes]:
    supervisor = Processes(server_folder, marker=server_folder.name)
    yield supervisor
    supervisor.stop_all()
    proc.kill_marked(MARKER, f"{supervisor.marker}-target")
    supervisor.kill_marked()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(request: pytest.FixtureRequest) -> None:
    """Give the tests that touch the warehouse a PostgreSQL of their own, unless DATABASE_URL names one."""
    if "DATABASE_URL" in os.environ:
        return
    from django.db import connections

    cluster = request.getfixturevalue("warehouse_cluster")
    connections["default"].settings_dict.update(database_settings(cluster.url))


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Let tests with transactions empty the tables that refuse it, and in no time where the database allows it."""
    from django.db import connection

    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('is_superuser')")
        if cursor.fetchone() == ("on",):
            connection.ops.sql_flush = emptied_by_delete
        cursor.execute("SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'never_emptied'")
        for (table,) in cursor.fetchall():
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER never_emptied")


def emptied_by_delete(
    _style: Any, tables: list[str], *, reset_sequences: bool = False, allow_cascade: bool = False
) -> list[str]:
    """Return SQL that removes all rows without triggers: TRUNCATE makes new files for each table and index."""
    assert not reset_sequences, "Tests count from no number."
    deletes = "; ".join(f'DELETE FROM "{table}"' for table in tables)
    return [f"SET LOCAL session_replication_role = replica; {deletes}"]


@pytest.fixture(scope="session")
def warehouse_cluster(request: pytest.FixtureRequest) -> Cluster:
    return new_cluster("warehouse", 16, request, {"fsync": "off", "full_page_writes": "off"})


@pytest.fixture(scope="session")
def broker_url(request: pytest.FixtureRequest) -> str:
    """redis://... of a broker of the tests' own, or BROKER_URL."""
    if "BROKER_URL" in os.environ:
        return os.environ["BROKER_URL"]
    processes, folder, account = _place(request)
    broker = Broker(folder / "broker", ports.free_port(), secrets.token_urlsafe(), account)
    with alone():
        broker.start(processes)
    return broker.url


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> Target:
    """An SSH daemon (OpenSSH where it is installed) and a key pair that may log in."""
    processes, folder, account = _place(request)
    sshd = SshTarget(folder / "target", ports.free_port(), account, marker=f"{processes.marker}-target")
    sshd.create()
    private_key, public_key = new_key_pair()
    sshd.authorize(public_key)
    sshd.start(processes)
    return Target("127.0.0.1", sshd.port, sshd.username, sshd.host_key, private_key, sshd.work_directory)


@pytest.fixture(scope="session")
def cluster16(request: pytest.FixtureRequest) -> Cluster:
    return new_cluster("cluster16", 16, request)


@pytest.fixture(scope="session")
def cluster18(request: pytest.FixtureRequest) -> Cluster:
    return new_cluster("cluster18", 18, request)


@pytest.fixture(scope="session")
def cluster15(request: pytest.FixtureRequest) -> Cluster:
    if not (DEBIAN_15 / "initdb").exists():
        pytest.skip(f"PostgreSQL 15 is not installed: {DEBIAN_15} does not exist")
    return new_cluster("cluster15", 15, request)


def new_cluster(
    name: str, major: int, request: pytest.FixtureRequest, settings: Mapping[str, str] | None = None
) -> Cluster:
    """A running cluster of the session, with its database `benchhub` and the superuser of that name.

    A warehouse that only the tests fill need not survive a power cut: emptying its tables waits for no disk.
    """
    processes, folder, account = _place(request)
    with alone():
        bin_directory = DEBIAN_15 if major == 15 else programs.builds(account)[major]
    port = ports.free_port()
    cluster = Cluster(name, folder / name, bin_directory, port, account, settings=settings or {}, is_scratch=True)
    cluster.create(processes)
    cluster.start(processes)
    return cluster


def new_key_pair() -> tuple[str, str]:
    """A private key in OpenSSH format and its line for authorized_keys."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return private.decode(), public.decode()


def _place(request: pytest.FixtureRequest) -> tuple[Processes, Path, Account]:
    value: Any = request.getfixturevalue
    return value("processes"), value("server_folder"), value("account")
