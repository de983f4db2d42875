"""Files that pretend to be backups: each is refused with a sentence before anything reads on."""

import io
import json
import tarfile

import pytest

from benchhub.bench.operations import backup

HONEST = {
    "format": "benchhub.backup", "version": 1, "release": "1", "server_version": "16.4", "taken_at": "2026-01-31",
    "migrations": ["bench.0001"], "rows": {"bench.Run": 1}, "field_keys": [],
}  # fmt: skip


def packed(file, *members):
    with tarfile.open(file, "w") as tar:
        for name, kind, content in members:
            entry = tarfile.TarInfo(name)
            entry.type, entry.size = kind, len(content) if kind == tarfile.REGTYPE else 0
            entry.linkname = "/etc/passwd"
            tar.addfile(entry, io.BytesIO(content))
    return file


@pytest.mark.parametrize(
    "changes",
    [
        {"server_version": "x"},
        {"server_version": 16},
        {"migrations": [["a"]]},
        {"migrations": "bench"},
        {"field_keys": [1]},
        {"rows": []},
        {"release": None},
        {"more": 1},
    ],
)
def test_a_manifest_with_parts_of_another_kind_is_none(changes):
    assert backup.Manifest.read(json.dumps(HONEST).encode()).rows == {"bench.Run": 1}
    with pytest.raises(backup.BackupError, match="its manifest cannot be read"):
        backup.Manifest.read(json.dumps({**HONEST, **changes}).encode())


def test_a_manifest_that_is_nested_without_end_is_none():
    with pytest.raises(backup.BackupError, match="its manifest cannot be read"):
        backup.Manifest.read(b"[" * 1_000_000)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_what_is_no_plain_file_in_it_is_not_followed(tmp_path, kind):
    manifest = (backup.MANIFEST, tarfile.REGTYPE, json.dumps(HONEST).encode())
    file = packed(tmp_path / "it.backup", manifest, (backup.DUMP, kind, b""))
    with pytest.raises(backup.BackupError, match="is no backup of BenchHub"), backup._opened(file):
        pass
