"""The archive: files of runs apart from the warehouse, each below the SHA-256 of its bytes, compressed.

It is the storage `archive` of Django's settings: a folder (ARCHIVE_DIR), or whatever ARCHIVE_STORAGE names. Nothing
here removes a file that is whole, as a backup of the warehouse may lead to it.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage, Storage, storages

ALIAS = "archive"
# What cannot be compressed grows by less than a thousandth, and a head and an end of gzip.
PACKED_SHARE, PACKED_BYTES = 1000, 1024
GZIP = 16 + zlib.MAX_WBITS
# A file that is being written; no write lasts a day, so that one as old was left by a process that was killed.
UNFINISHED, UNFINISHED_S = ".unfinished-", 24 * 3600
NOT_SET = "No archive is set up here: let ARCHIVE_DIR name its folder, alike for web and worker."
MISSING = "Its bytes are in the archive, which has no file {} now: put it back from a copy of the archive."
UNREADABLE = "Its bytes are in the archive, which cannot be read ({}): see that web and worker reach it."
DAMAGED = "Its file in the archive, {}, is damaged: put it back from a copy of the archive."
OTHER_BYTES = (
    "Its bytes in the warehouse have another checksum than was noted when they came: they stay where they are."
)


class ArchiveError(Exception):
    """Bytes that cannot be had or stored; the message says why, and what to do."""


class Folder(FileSystemStorage):
    """A folder whose files are whole or not there, whenever the process or the machine stops."""

    def __init__(self, location: str) -> None:
        super().__init__(location=location, allow_overwrite=True)
        self._next_sweep_s: dict[Path, float] = {}

    def _save(self, name: str, content: File[bytes]) -> str:
        target = Path(self.path(name))
        target.parent.mkdir(parents=True, exist_ok=True)
        self._sweep(target.parent)
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=UNFINISHED, delete=False) as file:
            file.writelines(content.chunks())
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(target)
        _sync_folder(target.parent)
        _sync_folder(target.parent.parent)
        return name

    def _sweep(self, folder: Path) -> None:
        """Remove what was begun in the folder more than a day ago and never finished; it is listed once a day."""
        if time.monotonic() < self._next_sweep_s.get(folder, 0):
            return
        self._next_sweep_s[folder] = time.monotonic() + UNFINISHED_S
        for file in folder.glob(f"{UNFINISHED}*"):
            with suppress(OSError):  # another process sweeps as well, or the file is another account's
                if time.time() - file.stat().st_mtime > UNFINISHED_S:
                    file.unlink()


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_set_up() -> bool:
    return ALIAS in settings.STORAGES


def place(sha256: str) -> str:
    """Return the name below which the archive has bytes of this digest."""
    return f"{sha256[:2]}/{sha256}.gz"


def put(content: bytes, sha256: str) -> None:
    """Store bytes, and read them back. Raises ArchiveError unless they are there then, whole and of this digest."""
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ArchiveError(OTHER_BYTES)
    try:
        get(sha256, len(content))
    except ArchiveError:
        _save(place(sha256), gzip.compress(content, compresslevel=6, mtime=0))
        get(sha256, len(content))


def get(sha256: str, most_bytes: int) -> bytes:
    """Return the bytes of this digest, of which there are so many at most.

    Raises ArchiveError where they are missing or damaged; a file that grows beyond what it should be is not read on.
    """
    name = place(sha256)
    packed = _packed(name, most_bytes + most_bytes // PACKED_SHARE + PACKED_BYTES)
    try:
        content = _inflated(packed, most_bytes + 1)
    except zlib.error as error:
        raise ArchiveError(DAMAGED.format(name)) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ArchiveError(DAMAGED.format(name))
    return content


def _inflated(packed: bytes, most_bytes: int) -> bytes:
    return zlib.decompressobj(GZIP).decompress(packed, most_bytes)


def _packed(name: str, most_bytes: int) -> bytes:
    storage = _storage()
    try:
        with storage.open(name) as file:
            return bytes(file.read(most_bytes))
    except FileNotFoundError as error:
        raise ArchiveError(MISSING.format(name)) from error
    except Exception as error:  # each storage has exceptions of its own
        raise ArchiveError(UNREADABLE.format(_reason(error))) from error


def _save(name: str, packed: bytes) -> None:
    try:
        _storage().save(name, ContentFile(packed))
    except Exception as error:  # as above
        raise ArchiveError(f"The archive cannot be written ({_reason(error)}): mend that, and it goes on.") from error


def _storage() -> Storage:
    if not is_set_up():
        raise ArchiveError(NOT_SET)
    return storages[ALIAS]


def _reason(error: Any) -> str:
    return getattr(error, "strerror", None) or type(error).__name__
