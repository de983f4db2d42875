"""Backups of a real warehouse with runs in flight, restored into databases of their own."""

import hashlib
import json
import os
import re
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

FILTERS = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Debian 12 has Python 3.11.2
pytestmark = pytest.mark.django_db(transaction=True)
OF_OTHERS = (
    'CREATE TABLE public."My notes" (id serial, "Größe" text)',
    """INSERT INTO public."My notes" ("Größe") VALUES ('x')""",
    "CREATE SCHEMA others CREATE TABLE bench_run (id int)",
    "CREATE MATERIALIZED VIEW public.counts AS SELECT count(*) FROM others.bench_run",
    "SELECT lo_from_bytea(4711, 'x')",
)
NO_OTHERS = ("DROP MATERIALIZED VIEW counts", "DROP SCHEMA others CASCADE", 'DROP TABLE "My notes"',
             "SELECT lo_unlink(4711)")  # fmt: skip
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


@pytest.fixture
def of_others():
    """What an administrator keeps in the same database, under names that a dump quotes."""
    with connection.cursor() as cursor:
        for statement in OF_OTHERS:
            cursor.execute(statement)
    yield
    with connection.cursor() as cursor:
        for statement in NO_OTHERS:
            cursor.execute(statement)


def states(name):
    with psycopg.connect(url(name)) as other:
        return [row[0] for row in other.execute("SELECT state FROM bench_run ORDER BY position")]


def tables(name):
    with psycopg.connect(url(name)) as other:
        return other.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()[0]


def schema(name):
    """Return the triggers, constraints and indexes of a database as it says them."""
    queries = (
        "SELECT pg_get_triggerdef(oid), tgenabled FROM pg_trigger WHERE NOT tgisinternal AND tgname <> 'never_emptied'",
        "SELECT conrelid::regclass, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 2200",
        "SELECT indexdef, '' FROM pg_indexes WHERE schemaname = 'public'",
        "SELECT sequencename, last_value FROM pg_sequences WHERE sequencename <> 'django_migrations_id_seq'",
    )
    with psycopg.connect(url(name)) as other:
        return [sorted(map(str, other.execute(query))) for query in queries]


def test_what_is_backed_up_comes_back_whole_with_its_triggers_and_without_sessions(runs, empty, tmp_path):
    session = SessionStore()
    session["x"] = "y"
    session.save()
    manifest = backup.back_up(tmp_path / "it.backup")
    assert (manifest.rows["bench.Run"], manifest.rows["bench.Result"]) == (3, 1)
    assert (tmp_path / "it.backup").stat().st_mode & 0o077 == 0
    Run.objects.filter(pk=runs[2].pk).update(reason="later than the backup")
    done = manage(empty, "restore", tmp_path / "it.backup")
    assert done.returncode == 0, done.stderr
    assert "Restored 3 runs as of" in done.stdout
    assert states(empty) == ["succeeded", "running", "queued"]
    for mine, theirs in zip(schema(empty), schema(connection.settings_dict["NAME"]), strict=True):
        assert set(mine) ^ set(theirs) == set()
    with psycopg.connect(url(empty)) as other:
        assert other.execute("SELECT throughput FROM bench_result").fetchone() == (1234.5,)
        assert other.execute("SELECT count(*) FROM bench_run WHERE reason <> ''").fetchone() == (0,)
        assert other.execute("SELECT count(*) FROM django_session").fetchone() == (0,)
        with pytest.raises(psycopg.Error, match="may not move from succeeded to queued"):
            other.execute("UPDATE bench_run SET state = 'queued' WHERE state = 'succeeded'")


def test_what_is_not_benchhub_s_is_left_out_and_named(runs, of_others, tmp_path):
    sentences = []
    backup.back_up(tmp_path / "it.backup", sentences.append)
    assert sentences == [
        "Left out, as it is no table of BenchHub's: My notes, counts and others.bench_run. "
        "Back it up yourself, with pg_dump."
    ]
    contents = listed(tmp_path / "it.backup", tmp_path)
    assert "TABLE DATA public bench_run " in contents and "SEQUENCE SET public bench_run_id_seq " in contents
    assert not re.search(r"notes|\bcounts|others|BLOB|django_session", contents)


def test_a_backup_that_has_more_than_benchhub_s_comes_back_without_that(runs, of_others, empty, tmp_path, monkeypatch):
    """Releases before wrote the whole database out, and one of them the sessions as well."""
    session = SessionStore()
    session["x"] = "y"
    session.save()
    monkeypatch.setattr(backup, "_own_tables", lambda _say: [])
    backup.back_up(tmp_path / "it.backup")
    contents = listed(tmp_path / "it.backup", tmp_path)
    assert all(name in contents for name in ("My notes", "counts", "others bench_run", "BLOB", "django_session"))
    done = manage(empty, "restore", tmp_path / "it.backup")
    assert done.returncode == 0, done.stderr
    assert "Not restored, as it is no table of BenchHub's: My notes, counts and others.bench_run." in done.stdout
    assert states(empty) == ["succeeded", "running", "queued"]
    assert schema(empty)[3] == [line for line in schema(connection.settings_dict["NAME"])[3] if "notes" not in line]
    with psycopg.connect(url(empty)) as other:
        assert other.execute("SELECT count(*) FROM django_session").fetchone() == (0,)
        assert other.execute("SELECT to_regclass('public.counts'), to_regclass('others.bench_run')").fetchone() == (
            None,
            None,
        )


def listed(file, folder):
    """Return the list of contents of a backup's dump."""
    with tarfile.open(file) as tar:
        tar.extract(backup.DUMP, folder, **FILTERS)
    command = [backup._program("pg_restore", 16), "--list", str(folder / backup.DUMP)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_backup_is_not_restored_over_a_warehouse(runs, tmp_path):
    backup.back_up(tmp_path / "it.backup")
    done = manage(connection.settings_dict["NAME"], "restore", tmp_path / "it.backup")
    assert done.returncode == 1
    assert "already. Stop BenchHub, make a fresh database" in done.stderr
    assert Run.objects.count() == 3


def repacked(source, target, spoil=bytes, **changes):
    """Copy a backup with other fields in its manifest, and a dump that was spoilt by whoever knows its checksum."""
    with tarfile.open(source) as tar:
        tar.extractall(target.parent, **FILTERS)
    copy, file = target.parent / backup.DUMP, target.parent / backup.MANIFEST
    copy.write_bytes(content := spoil(copy.read_bytes()))
    digest = {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
    file.write_text(json.dumps({**json.loads(file.read_text()), **digest, **changes}))
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


def test_a_dump_that_would_run_a_program_of_the_server_runs_none_and_leaves_the_database_empty(runs, empty, tmp_path):
    """The statements of a dump lie in it as plain text: who writes them has its rows copied from a program."""
    statement = f"COPY public.bench_run FROM PROGRAM 'touch {tmp_path}/taken';".encode()

    def spoil(content):
        honest = re.search(rb"COPY public\.bench_run \([^)]*\) FROM stdin;\n", content)[0]
        return content.replace(honest, statement.ljust(len(honest)))

    backup.back_up(tmp_path / "it.backup")
    done = manage(empty, "restore", repacked(tmp_path / "it.backup", tmp_path / "bad", spoil))
    assert done.returncode == 1
    assert 'it holds something else than rows: "COPY public.bench_run FROM PROGRAM' in done.stderr
    assert tables(empty) == 0 and not (tmp_path / "taken").exists()


@pytest.mark.whole
def test_other_rows_than_the_manifest_says_leave_the_database_empty(runs, empty, tmp_path):
    """A number of rows that is not the manifest's is seen last, when all has been stored."""
    taken = backup.back_up(tmp_path / "it.backup")
    more = repacked(tmp_path / "it.backup", tmp_path / "more", rows={**taken.rows, "bench.Run": 4})
    done = manage(empty, "restore", more)
    assert (done.returncode, "Not everything came back" in done.stderr) == (1, True), done.stderr
    assert tables(empty) == 0
    with psycopg.connect(url(empty)) as other:
        assert other.execute("SELECT count(*) FROM pg_proc WHERE pronamespace = 2200").fetchone() == (0,)


@pytest.mark.whole
def test_an_older_release_s_backup_is_brought_to_this_release(runs, empty, tmp_path):
    older = f"older_{os.getpid()}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {older}")
    try:
        assert manage(older, "migrate", "bench", "0027", "-v", "0").returncode == 0
        for app in ("accounts", "reports", "catalog", "sessions"):
            assert manage(older, "migrate", app, "-v", "0").returncode == 0
        done = manage(older, "backup", tmp_path / "it.backup")
        assert done.returncode == 0, done.stderr
        done = manage(empty, "restore", tmp_path / "it.backup")
        assert (done.returncode, "It was taken by an older release" in done.stdout) == (0, True), done.stderr
        for mine, theirs in zip(schema(empty)[:3], schema(connection.settings_dict["NAME"])[:3], strict=True):
            assert set(mine) ^ set(theirs) == set()
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {older} WITH (FORCE)")
