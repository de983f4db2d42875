"""The warehouse's PostgreSQL crashes, stands still, or comes back from an old backup."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection

from benchhub.bench.models import Result, Run
from benchhub.embedded.postgres import Cluster

from . import rows
from .rig import CLONE, crash, kill, until

pytestmark = [
    pytest.mark.target,
    pytest.mark.skipif("DATABASE_URL" in os.environ, reason="the warehouse of others is not crashed"),
]


@pytest.fixture
def warehouse(request: pytest.FixtureRequest) -> Cluster:
    return request.getfixturevalue("warehouse_cluster")


def test_a_warehouse_that_crashes_and_recovers_has_everything_once(rig, site, system, ends_once, warehouse):
    worker = rig.both()
    runs = rows.queue(system, 3)
    rows.until_state(runs[0], "running")
    crash(warehouse)
    connection.close()
    time.sleep(2 * rig.lease_s)
    warehouse.start(rig.processes)
    ends_once(runs)
    assert worker.exit_code is None


def test_a_warehouse_that_crashes_in_the_middle_of_a_collection_takes_it_up_again(
    rig, site, system, ends_once, warehouse
):
    from .rows import locked, waits_for

    rig.both()
    runs = rows.queue(system)
    try:
        with locked("bench_evidence"):
            until(lambda: waits_for("bench_evidence"))
            crash(warehouse)
    except Exception as error:  # noqa: BLE001  # the connection that held the lock has crashed with the server
        assert "connection" in str(error) or "server" in str(error)
    connection.close()
    warehouse.start(rig.processes)
    ends_once(runs)


def test_a_warehouse_that_stands_still_for_several_leases_has_everything_once(rig, site, system, ends_once, warehouse):
    """A fail-over as its clients see it: nobody answers, then an answer that comes late."""
    worker = rig.both()
    runs = rows.queue(system, 3)
    rows.until_state(runs[0], "running")
    postmaster = int((warehouse.data_directory / "postmaster.pid").read_text().split()[0])
    from benchhub.embedded import proc

    pids = [process.pid for process in proc.family(postmaster)] + [postmaster]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(2 * rig.lease_s)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    ends_once(runs)
    assert worker.exit_code is None


READ_ONLY = "default_transaction_read_only"


@contextmanager
def read_only(warehouse):
    """A fail-over that ends at a standby, as far as its clients can tell."""
    change(warehouse, f"ALTER SYSTEM SET {READ_ONLY} = on", "SELECT pg_reload_conf()")
    try:
        yield
    finally:
        change(warehouse, f"SET {READ_ONLY} = off", f"ALTER SYSTEM RESET {READ_ONLY}", "SELECT pg_reload_conf()")


@contextmanager
def closed(warehouse):
    database = connection.settings_dict["NAME"]
    connection.close()
    ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
    change(warehouse, f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS false', ended)
    try:
        yield
    finally:
        change(warehouse, f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS true')


@pytest.mark.parametrize("state", [read_only, closed])
def test_a_warehouse_that_takes_nothing_for_several_leases_has_everything_once(
    rig, site, system, ends_once, warehouse, state
):
    worker = rig.both()
    runs = rows.queue(system, 3)
    rows.until_state(runs[0], "running")
    with state(warehouse):
        until(lambda: (site.folder(runs[0]) / "rc").exists())
        time.sleep(2 * rig.lease_s)  # the fault is to last
    connection.close()
    ends_once(runs)
    assert worker.exit_code is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_warehouse_without_room_for_evidence_loses_none_and_collects_it_once_there_is_room(
    rig, site, system, ends_once, warehouse
):
    folder = rig.folder / "small"
    rig.account.make_folder(folder)
    owner = f"size=2m,mode=0700,uid={rig.account.uid},gid={rig.account.gid}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", owner, "tmpfs", str(folder)], check=True)
    worker = rig.both()
    try:
        change(warehouse, f"CREATE TABLESPACE small LOCATION '{folder}'")
        with connection.cursor() as cursor:
            cursor.execute("VACUUM FULL bench_evidence")  # other tests have left room in its pages
            cursor.execute("ALTER TABLE bench_evidence SET TABLESPACE small")
        (folder / "filler").write_bytes(bytes(free_bytes(folder)))
        runs = rows.queue(system, 2, duration_s=1)
        until(lambda: "No space left on device" in str(rows.doing(runs[0])[2]))
        time.sleep(2 * rig.lease_s)  # the fault is to last
        assert [rows.state(run) for run in runs] == ["collecting", "queued"]
        (folder / "filler").unlink()
        ends_once(runs)
        assert worker.exit_code is None
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE bench_evidence SET TABLESPACE pg_default")
        change(warehouse, "DROP TABLESPACE small")
        subprocess.run(["umount", "-l", str(folder)], check=True)


def free_bytes(folder) -> int:
    space = os.statvfs(folder)
    return space.f_bavail * space.f_frsize


def change(cluster: Cluster, *statements: str) -> None:
    with psycopg.connect(cluster.url, autocommit=True) as session:
        for statement in statements:
            session.execute(statement)


def test_an_old_backup_restored_runs_nothing_twice_and_collects_what_ran_since(rig, site, system, ends_once, warehouse):
    """A backup of the release's own commands, taken under a load, and restored into a fresh database."""
    counted, go = site.bin_directory / "executions", site.bin_directory / "go"
    site.behave(f"[ $(wc -l < {counted}) -lt 2 ] || while [ ! -e {go} ]; do sleep 0.1; done")
    worker = rig.both()
    runs = rows.queue(system, 4, duration_s=1)
    until(lambda: site.executions(runs[1]) == 1)
    rows.until_state(runs[1], "running")
    file, name = rig.folder / "warehouse.backup", connection.settings_dict["NAME"]
    manage(rig, rows.warehouse_url(), "backup", file)
    rig.account.write(go, "")
    ends_once(runs)
    for child in rig.running:
        kill(child)
    connection.close()
    with in_the_place_of(warehouse, name) as fresh:
        manage(rig, fresh, "restore", file)
    assert [rows.state(run) for run in runs] == ["succeeded", "running", "queued", "queued"]
    assert Result.objects.count() == 1
    rig.both()
    ends_once(runs)
    assert worker.exit_code is not None
    assert Run.objects.count() == 4


def manage(rig, database_url: str, *words: object) -> None:
    """Run a command of BenchHub as an administrator does, on the database that is named."""
    environment = {**rig.environment, "DATABASE_URL": database_url}
    command = [sys.executable, str(CLONE / "manage.py"), *map(str, words)]
    ended = subprocess.run(command, env=environment, cwd=CLONE, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


@contextmanager
def in_the_place_of(cluster: Cluster, name: str):
    """Yield the address of a fresh database, which has the name of the old one afterwards; that is gone."""
    change(cluster, "CREATE DATABASE fresh")
    yield rows.warehouse_url().rpartition("/")[0] + "/fresh"
    change(cluster, f'DROP DATABASE "{name}" WITH (FORCE)', f'ALTER DATABASE fresh RENAME TO "{name}"')
