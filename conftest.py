"""How all tests run: settings, the warehouse, pages as they are read, and the order of the files."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing.util
import os
import re
import secrets
import threading
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.conf import settings
from django.template import Context, Template
from django.test import Client
from hypothesis import HealthCheck
from hypothesis import settings as properties
from whitenoise.middleware import WhiteNoiseMiddleware

from benchhub.database_url import database_settings
from tests import places

pytest_plugins = ("tests.servers", "tests.browser")

CLONE = Path(__file__).resolve().parent
# `make test-whole` sets it: what a test otherwise tries on few examples it tries on all.
WHOLE = os.environ.get("WHOLE", "") not in ("", "0")

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
    """Give `-n auto` four processes more than there are cores: tests of servers and browsers mostly wait."""
    return len(os.sched_getaffinity(0)) + 4


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


@pytest.hookimpl(tryfirst=True)  # pytest's own looks where its folders are to lie
def pytest_configure(config: pytest.Config) -> None:
    if getattr(config.option, "dist", "no") == "no":  # this process collects: nothing becomes garbage meanwhile
        gc.disable()
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(config), "failures")
        stack = contextlib.ExitStack()
        folder = stack.enter_context(places.session())
        # After multiprocessing itself, which is not content where its folder is gone already.
        multiprocessing.util.Finalize(None, stack.close, exitpriority=-1000)
        config.option.basetemp = config.option.basetemp or str(folder / "p")


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
