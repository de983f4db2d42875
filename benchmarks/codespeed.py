"""Install and start codespeed, another Django site that takes results in, in a venv of its own.

Its newest release wants a Django below 2.2, which no supported Python has in mind: where it cannot be installed or does
not start, the reason is what is printed in the place of a rate.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import psycopg

from benchmarks import web
from benchmarks.web import Door

VERSION = "0.13.0"
# The newest that it allows, and what these need. Left out is matplotlib, which has no wheel of the old release that it
# wants, and which draws pictures for feeds alone.
BESIDE = ("Django==2.1.15", "pytz==2026.6", "isodate==0.7.2", "psycopg2-binary==2.9.13", "gunicorn==27.0.1")
# Its requirement 'django>=1.11<2.2' is none by today's rules: these are the last that still read it.
TOOLS = ("pip<24.1", "setuptools<66", "wheel==0.37.1")
SETTINGS = """
import sys, types
from codespeed.settings import *
for name in ("matplotlib", "matplotlib.figure", "matplotlib.ticker", "matplotlib.backends",
             "matplotlib.backends.backend_agg"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["matplotlib.figure"].Figure = sys.modules["matplotlib.ticker"].FormatStrFormatter = object
sys.modules["matplotlib.backends.backend_agg"].FigureCanvasAgg = object
SECRET_KEY, ALLOWED_HOSTS, ROOT_URLCONF = "a benchmark", ["*"], "codespeed.urls"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "codespeed"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
USE_TZ = USE_I18N = False  # newer psycopg2 and Python refuse what this Django does for either
ALLOW_ANONYMOUS_POST, REQUIRE_SECURE_AUTH = True, False
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "codespeed", "USER": %(user)r,
             "PASSWORD": %(password)r, "HOST": %(host)r, "PORT": %(port)r, "CONN_MAX_AGE": 60}}
"""
WSGI = "from django.core.wsgi import get_wsgi_application\napplication = get_wsgi_application()\n"
SETUP = "from codespeed.models import Environment\nEnvironment.objects.create(name='CI machine')\n"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class NotHereError(Exception):
    """It cannot be measured here; the message says why."""


@contextmanager
def served(folder: Path, warehouse_url: str) -> Iterator[Door]:
    """Yield a codespeed with a database of its own in the same PostgreSQL as BenchHub's. Raises NotHereError."""
    python = _installed(folder)
    place = urlsplit(warehouse_url)
    with psycopg.connect(warehouse_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE codespeed")
    names = {"user": place.username, "password": place.password, "host": place.hostname, "port": str(place.port)}
    (folder / "peer_settings.py").write_text(SETTINGS % names)
    (folder / "peer.py").write_text(WSGI)
    environment = {"DJANGO_SETTINGS_MODULE": "peer_settings", "PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder)}
    environment["PYTHONWARNINGS"] = "ignore"  # it warns of what SETTINGS mean
    _run([str(python), "-m", "django", "migrate", "--verbosity", "0"], folder, environment)
    _run([str(python), "-m", "django", "shell", "-c", SETUP], folder, environment)
    with web.served(python, "peer:application", folder, environment) as port:
        yield Door(port, "/result/add/json/", FORM, taken=202)


def _installed(folder: Path) -> Path:
    """Return the Python of a new venv that has it. Raises NotHereError."""
    _run([sys.executable, "-m", "venv", str(folder / "venv")], folder)
    python = folder / "venv" / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-build-isolation"]
    _run([*pip, *TOOLS, *BESIDE], folder)
    _stand_in_for_pypandoc(next((folder / "venv" / "lib").glob("python3*/site-packages")))
    for package in ("setuptools-markdown==0.4.1", f"codespeed=={VERSION}"):  # its setup imports the first
        _run([*pip, "--no-deps", package], folder)
    return python


def _stand_in_for_pypandoc(packages: Path) -> None:
    """Write a pypandoc with the function by which codespeed's setup converts its README, and which newer ones lack.

    It has a record of being installed, or the newest would be fetched in its place.
    """
    (packages / "pypandoc.py").write_text('def convert(*_, **__):\n    return ""\n')
    record = packages / "pypandoc-1.4.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: pypandoc\nVersion: 1.4\n")
    (record / "RECORD").touch()


def _run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line.strip() for line in done.stderr.splitlines() if "Error:" in line or "Invalid" in line]
        raise NotHereError(errors[-1] if errors else f"{' '.join(command[:4])} ended with {done.returncode}.")


def body(lines: list[dict[str, object]], request: int) -> bytes:
    """Return the same results as it takes them: each with a benchmark of its own, or it takes another's place."""
    return urlencode({"json": json.dumps([_result(line, n, request) for n, line in enumerate(lines)])}).encode()


def _result(line: dict[str, object], number: int, request: int) -> dict[str, object]:
    numbers = line["numbers"]
    assert isinstance(numbers, dict)
    return {
        "commitid": f"request {request}",
        "branch": "default",
        "project": "PostgreSQL",
        "executable": "18.1",
        "environment": "CI machine",
        "benchmark": f"select-only {number}, {line['clients']} clients",
        "units": numbers["unit"],
        "result_value": numbers["throughput"],
    }
