"""An upgrade with runs in flight: the release before is stopped, its tables are migrated, this release goes on.

What is migrated step by step ends as what a new installation makes at once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from io import BytesIO
from itertools import islice
from pathlib import Path

import psycopg
import pytest

from benchhub.embedded.postgres import Cluster
from tests.faults.rig import CLONE, kill, until
from tests.faults.rows import warehouse_url

pytestmark = [
    pytest.mark.target,
    pytest.mark.skipif("DATABASE_URL" in os.environ, reason="needs a database of its own beside the tests'"),
]

MIGRATE = ("manage.py", "migrate", "--noinput", "-v", "0")
# What replaces other migrations changes no table.
SQUASHED = ":(exclude)benchhub/*/migrations/*_squashed_*"

# The release before plans in its own words, so that its rows are its own.
PLAN = """\
import json, sys
from pathlib import Path
from types import SimpleNamespace as Row
import django
django.setup()
from tests.faults import rows
facts = json.load(sys.stdin)
machine = Row(username=facts["user"], host_key=facts["host_key"], work_directory=facts["work"])
site = Row(name="alpha", proxy=Row(port=facts["port"]), private_key=facts["key"], machine=machine,
           bin_directory=Path(facts["bin"]))
runs = rows.queue(rows.enrol(site, Row(**facts["server"])), 3, duration_s=8)
print(json.dumps([str(run.uuid) for run in runs]))
"""


def git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=CLONE, capture_output=True, check=True).stdout


def migrations(commit: str) -> set[str]:
    paths = git("ls-tree", "-r", "--name-only", commit, "benchhub").decode().split()
    return {path for path in paths if "/migrations/0" in path}


def commit_before(steps: int) -> str:
    """Return the commit before the newest migration, or so many migrations earlier, whose own are all still here.

    A migration that was written anew before its release was never that of a release.
    """
    added = git("log", "--diff-filter=A", "--format=%H", "--", "benchhub/*/migrations/0*.py", SQUASHED).decode().split()
    here = migrations("HEAD")
    return list(islice((f"{commit}^" for commit in added if migrations(f"{commit}^") < here), steps + 1))[-1]


@pytest.fixture(params=[0, 15], ids=["the release before", "fifteen before"])
def release_before(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a tree of a release before the newest migration."""
    try:
        archive = git("archive", commit_before(request.param))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the history of the releases is not here")
    with tarfile.open(fileobj=BytesIO(archive)) as tree:
        filters = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Debian 12 has Python 3.11.2
        tree.extractall(tmp_path, **filters)
    return tmp_path


@pytest.fixture
def url(rig) -> str:
    """Return a database that is empty, and let workers and ticker of the rig use it."""
    with psycopg.connect(warehouse_url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS upgraded WITH (FORCE)")
        connection.execute("CREATE DATABASE upgraded")
    address = warehouse_url().rpartition("/")[0] + "/upgraded"
    rig.environment["DATABASE_URL"] = address
    yield address
    rig.close()
    with psycopg.connect(warehouse_url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE upgraded WITH (FORCE)")


def python(rig, folder: Path, *words: str, text: str = "") -> str:
    environment = {**rig.environment, "DJANGO_SETTINGS_MODULE": "benchhub.settings"}
    command = [sys.executable, *words]
    answer = subprocess.run(command, cwd=folder, env=environment, input=text, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def start_both(rig, folder: Path) -> list:
    """Start a ticker and a worker of the release in a folder."""
    options = ("-P", "threads", "-c", "12", "-l", "INFO", "--without-gossip", "--without-mingle", "-n", "before@x")
    commands = {
        "ticker-before": ["-A", "benchhub.ticker", "beat", "-s", str(rig.folder / "before"), "--pidfile="],
        "worker-before": ["-A", "benchhub", "worker", *options],
    }
    children = []
    for name, words in commands.items():
        command = [sys.executable, "-m", "celery", *words]
        child = rig.processes.start(name, command, folder=folder, environment=rig.environment)
        rig.running.append(child)
        children.append(child)
    return children


def facts_about(site, server) -> str:
    machine = site.machine
    place = {"port": server.port, "database": server.database, "username": server.username, "password": server.password}
    facts = {
        "user": machine.username,
        "host_key": machine.host_key,
        "work": str(machine.work_directory),
        "port": site.proxy.port,
        "key": site.private_key,
        "bin": str(site.bin_directory),
        "server": place,
    }
    return json.dumps(facts)


def states(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [state for (state,) in connection.execute("SELECT state FROM bench_run ORDER BY position")]


def test_runs_in_flight_are_taken_over_by_the_next_release_and_run_once(rig, site, server, url, release_before):
    python(rig, release_before, *MIGRATE)
    uuids = json.loads(python(rig, release_before, "-c", PLAN, text=facts_about(site, server)).splitlines()[-1])
    children = start_both(rig, release_before)
    until(lambda: states(url)[0] == "running" and site.count()[f"benchhub-{uuids[0]}"] == 1)
    for child in children:
        kill(child)
    assert states(url) == ["running", "queued", "queued"]
    python(rig, CLONE, *MIGRATE)
    rig.both()
    until(lambda: states(url) == ["succeeded"] * 3, event=f"{states(url)}")
    assert site.count() == {f"benchhub-{uuid}": 1 for uuid in uuids}
    with psycopg.connect(url) as connection:
        [counts] = connection.execute(
            "SELECT (SELECT count(*) FROM bench_result), (SELECT count(*) FROM bench_attempt WHERE ended_at IS NULL)"
        )
    assert counts == (3, 0)


def tables(cluster: Cluster, database: str) -> list[str]:
    """Return what pg_dump writes of a database's tables, indexes, constraints and triggers, in no order."""
    program = cluster.bin_directory / "pg_dump"
    dump = subprocess.run([program, "--schema-only", "-d", database], capture_output=True, text=True, check=True).stdout
    lines = [line.rstrip(",") for line in dump.splitlines()]
    return sorted(line for line in lines if not line.startswith(("--", "\\restrict", "\\unrestrict")))


def test_an_upgraded_warehouse_has_the_tables_of_a_new_one(rig, url, release_before, warehouse_cluster):
    python(rig, release_before, *MIGRATE)
    python(rig, CLONE, *MIGRATE)
    upgraded = tables(warehouse_cluster, url)
    with psycopg.connect(warehouse_url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE upgraded WITH (FORCE)")
        connection.execute("CREATE DATABASE upgraded")
    python(rig, CLONE, *MIGRATE)
    assert len(upgraded) > 1000
    assert upgraded == tables(warehouse_cluster, url)
