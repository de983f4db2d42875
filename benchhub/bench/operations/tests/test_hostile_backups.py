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
        {"server_version": "9999"},
        {"format": "other.backup"},
        {"version": "2"},
    ],
)
def test_a_manifest_with_parts_of_another_kind_is_none(changes):
    assert backup.Manifest.read(json.dumps(HONEST).encode()).rows == {"bench.Run": 1}
    with pytest.raises(backup.BackupError, match="its manifest cannot be read"):
        backup.Manifest.read(json.dumps({**HONEST, **changes}).encode())


@pytest.mark.parametrize(("version", "major"), [("16.4", 16), ("18beta1", 18), ("17.2 (Debian 17.2-1)", 17)])
def test_a_backup_of_any_server_s_version_is_read(version, major):
    manifest = backup.Manifest.read(json.dumps({**HONEST, "server_version": version}).encode())
    assert manifest.server_major == major


def test_a_backup_of_another_format_says_so_whatever_its_parts_are():
    """A later format may have other parts, of other kinds."""
    for later in ({"version": 2, "migrations": {"bench": 1}, "more": 1}, {"version": 2, "server_version": [18]}):
        with pytest.raises(backup.BackupError, match="It is a backup of format 2; this release reads format 1"):
            backup.Manifest.read(json.dumps({**HONEST, **later}).encode())
    for text in (b"[]", b"1", b"{}"):
        with pytest.raises(backup.BackupError, match="It is no backup of BenchHub"):
            backup.Manifest.read(text)


def test_a_manifest_that_is_nested_without_end_is_none():
    with pytest.raises(backup.BackupError, match="its manifest cannot be read"):
        backup.Manifest.read(b"[" * 1_000_000)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_what_is_no_plain_file_in_it_is_not_followed(tmp_path, kind):
    manifest = (backup.MANIFEST, tarfile.REGTYPE, json.dumps(HONEST).encode())
    file = packed(tmp_path / "it.backup", manifest, (backup.DUMP, kind, b""))
    with pytest.raises(backup.BackupError, match="is no backup of BenchHub"), backup._opened(file):
        pass
