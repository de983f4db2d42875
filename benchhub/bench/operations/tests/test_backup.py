"""Backups of a real warehouse with runs in flight, restored into databases of their own."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import psycopg
import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection

from benchhub.bench import testing
from benchhub.bench.models import Run
from benchhub.bench.operations import backup
from benchhub.catalog.models import Hardware

pytestmark = pytest.mark.django_db(transaction=True)
CLONE = Path(__file__).resolve().parents[4]


@pytest.fixture
def runs():
    """A run that ended, one under way, and one in the queue."""
    host, box = testing.make_host(), Hardware.objects.create(name="Box", sockets=1, cores_per_socket=8)
    experiment = testing.make_experiment([testing.make_system("18", host, box)])
    made = [testing.make_run(experiment, experiment.systems.get(), 8, repeat) for repeat in (1, 2, 3)]
    testing.succeeded(made[0], 1234.5)
    for state in ("reserved", "starting", "running"):
        Run.objects.filter(pk=made[1].pk).update(state=state)
    return made


def url(name):
    place = connection.settings_dict
    return f"postgresql://{place['USER']}:{place['PASSWORD']}@{place['HOST']}:{place['PORT']}/{name}"


@pytest.fixture
def empty():
    name = f"restored_{os.getpid()}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    yield name
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


def manage(name, *words):
    command = [sys.executable, str(CLONE / "manage.py"), *map(str, words)]
    environment = {**os.environ, "DATABASE_URL": url(name), "SECRET_KEY": "x", "FIELD_KEYS": ""}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def states(name):
    with psycopg.connect(url(name)) as other:
        return [row[0] for row in other.execute("SELECT state FROM bench_run ORDER BY position")]


def tables(name):
    with psycopg.connect(url(name)) as other:
        return other.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()[0]


def test_what_is_backed_up_comes_back_whole_with_its_triggers(runs, empty, tmp_path):
    manifest = backup.back_up(tmp_path / "it.backup")
    assert (manifest.rows["bench.Run"], manifest.rows["bench.Result"]) == (3, 1)
    assert (tmp_path / "it.backup").stat().st_mode & 0o077 == 0
    Run.objects.filter(pk=runs[2].pk).update(reason="later than the backup")
    done = manage(empty, "restore", tmp_path / "it.backup")
    assert done.returncode == 0, done.stderr
    assert "Restored 3 runs as of" in done.stdout
    assert states(empty) == ["succeeded", "running", "queued"]
    with psycopg.connect(url(empty)) as other:
        assert other.execute("SELECT throughput FROM bench_result").fetchone() == (1234.5,)
        assert other.execute("SELECT count(*) FROM bench_run WHERE reason <> ''").fetchone() == (0,)
        with pytest.raises(psycopg.Error, match="may not move from succeeded to queued"):
            other.execute("UPDATE bench_run SET state = 'queued' WHERE state = 'succeeded'")


def test_no_session_is_in_a_backup(runs, empty, tmp_path):
    session = SessionStore()
    session["x"] = "y"
    session.save()
    backup.back_up(tmp_path / "it.backup")
    assert manage(empty, "restore", tmp_path / "it.backup").returncode == 0
    with psycopg.connect(url(empty)) as other:
        assert other.execute("SELECT count(*) FROM django_session").fetchone() == (0,)


def test_a_backup_is_not_restored_over_a_warehouse(runs, tmp_path):
    backup.back_up(tmp_path / "it.backup")
    done = manage(connection.settings_dict["NAME"], "restore", tmp_path / "it.backup")
    assert done.returncode == 1
    assert "already. Stop BenchHub, make a fresh database" in done.stderr
    assert Run.objects.count() == 3


def repacked(source, target, **changes):
    """Copy a backup with other fields in its manifest."""
    with tarfile.open(source) as tar:
        tar.extractall(target.parent, filter="data")
    file = target.parent / backup.MANIFEST
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    with tarfile.open(target, "w") as tar:
        tar.add(file, backup.MANIFEST)
        tar.add(target.parent / backup.DUMP, backup.DUMP)
    return target


@pytest.mark.whole
def test_a_newer_release_s_backup_is_refused_before_anything_is_written(runs, empty, tmp_path):
    taken = backup.back_up(tmp_path / "it.backup")
    newer = repacked(
        tmp_path / "it.backup", tmp_path / "newer", release="9.0", migrations=[*taken.migrations, "bench.0999_later"]
    )
    done = manage(empty, "restore", newer)
    assert done.returncode == 1
    assert "taken by release 9.0, which is newer than this one" in done.stderr
    assert "bench.0999_later" in done.stderr and "Install that release" in done.stderr
    assert tables(empty) == 0


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        pytest.param(lambda raw: raw[: len(raw) // 2], "cannot be read", marks=pytest.mark.whole),
        (lambda raw: raw[: len(raw) // 2] + bytes([raw[len(raw) // 2] ^ 1]) + raw[len(raw) // 2 + 1 :], "is damaged"),
        pytest.param(lambda _raw: b"no tar at all", "cannot be read", marks=pytest.mark.whole),
    ],
)
def test_a_damaged_backup_is_refused_and_leaves_the_database_empty(runs, empty, tmp_path, damage, sentence):
    backup.back_up(tmp_path / "it.backup")
    (tmp_path / "bad").write_bytes(damage((tmp_path / "it.backup").read_bytes()))
    done = manage(empty, "restore", tmp_path / "bad")
    assert (done.returncode, sentence in done.stderr) == (1, True), done.stderr
    assert tables(empty) == 0


def test_a_backup_overwrites_nothing_and_leaves_nothing_beside_it(runs, tmp_path):
    file = tmp_path / "it.backup"
    backup.back_up(file)
    before = file.read_bytes()
    with pytest.raises(backup.BackupError, match="is there already"):
        backup.back_up(file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["it.backup"]
