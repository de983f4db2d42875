"""Files that pretend to be backups: each is refused with a sentence before anything reads on."""

import io
import json
import tarfile

import pytest

from benchhub.bench.operations import backup, dump, refill

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


SCRIPT = b"""\
--
-- PostgreSQL database dump
--

\\restrict abcDEF123

SET statement_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET row_security = off;

COPY public.bench_run (id, "position") FROM stdin;
1\tDROP TABLE x;
2\t\\\\.
\\.

SELECT pg_catalog.setval('public.bench_run_id_seq', 7, true);
\\unrestrict abcDEF123
"""
ROWS = b"1\tDROP TABLE x;\n2\t\\\\.\n"


def read(script):
    return [
        (part.table, part.columns, b"".join(part.pieces)) if isinstance(part, dump.Rows) else part
        for part in dump.parts(io.BytesIO(script))
    ]


def test_a_script_is_read_as_rows_and_positions():
    sequence = dump.Position("bench_run_id_seq", 7, is_called=True)
    assert read(SCRIPT) == [("bench_run", ("id", "position"), ROWS), sequence]
    assert [part.__class__ for part in dump.parts(io.BytesIO(SCRIPT))] == [dump.Rows, dump.Position]


@pytest.mark.parametrize(
    "line",
    [
        "DROP TABLE accounts_entry;",
        "COPY public.bench_run (id) FROM PROGRAM 'id';",
        "COPY public.bench_run (id) FROM stdin; DROP TABLE x;",
        "COPY pg_catalog.pg_authid (rolname) FROM stdin;",
        'COPY public."x""; DROP" (id) FROM stdin;',
        "COPY public.bench_run (id) FROM stdin WHERE f();",
        "COPY public.bench_run (id) TO PROGRAM 'id';",
        "INSERT INTO public.bench_run VALUES (1);",
        "SELECT pg_catalog.setval('public.x', 1, true); SELECT f();",
        "SELECT pg_catalog.setval('public.x', f(), true);",
        "SELECT pg_catalog.set_config('search_path', 'evil', false);",
        "SELECT pg_catalog.lo_create('1');",
        "SET role = postgres; DROP TABLE x;",
        "SET client_encoding = 'SJIS';",
        "SET client_encoding = sjis;",
        "SET standard_conforming_strings = off;",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1';",
        "ALTER TABLE x DISABLE TRIGGER ALL;",
        "\\! id",
        "\\restrict a; \\! id",
        "\\.",
        " SELECT 1;",
        "/* */",
        "x" * 100_000,
    ],
)
def test_a_script_with_another_statement_is_refused_wherever_it_stands(line):
    for script in (line.encode() + b"\n" + SCRIPT, SCRIPT + line.encode(), SCRIPT.replace(b"\\.\n\n", line.join(
        ("\\.\n", "\n")).encode())):  # fmt: skip
        with pytest.raises(dump.DumpError, match="it holds something else than rows"):
            read(script)


def test_rows_without_an_end_are_refused_and_never_held_whole():
    class Endless(io.RawIOBase):
        lines = 0

        def readline(self, size=-1):
            assert 0 < size <= dump.CHUNK_BYTES
            self.lines += 1
            return b"COPY public.a (b) FROM stdin;\n" if self.lines == 1 else b"x" * size * (self.lines < 50)

    with pytest.raises(dump.DumpError, match="have no end"):
        for _ in dump.parts(Endless()):
            """Nobody takes the rows."""


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ([dump.Rows("django_session", ("session_key",), iter(()))], "a table that BenchHub has not: django_session"),
        ([dump.Rows("django_site", ("id", "more"), iter(()))], "a table that BenchHub has not: django_site"),
        (
            [dump.Rows("auth_group", ("id", "name", "more"), iter(()))],
            "columns of its table auth_group are others: more",
        ),
        ([dump.Rows("auth_group", ("id",), iter(()))], "columns of its table auth_group are others: name"),
        (
            [dump.Rows("auth_group", ("id", "name", "id"), iter(()))],
            "has the table auth_group, or a column of it, twice",
        ),
        (
            [dump.Rows("auth_group", ("id", "name"), iter([b"1\tx\n"]))] * 2,
            "has the table auth_group, or a column of it",
        ),
        ([dump.Position("evil", 1, is_called=True)], "a sequence that BenchHub has not: evil"),
        ([], "it lacks the table accounts_"),
    ],
)
def test_a_dump_of_other_tables_or_columns_than_ours_is_refused(parts, sentence):
    with pytest.raises(dump.DumpError, match=sentence):
        refill.refill(parts)
