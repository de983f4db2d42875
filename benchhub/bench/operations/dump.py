"""Read a dump of pg_dump as rows of tables and positions of sequences: whatever else it holds is refused.

pg_restore, connected to nothing, writes the dump out as a script. Its statements are read by a grammar of a few lines
and never carried out, so a dump brings rows, and no table, function, trigger or command.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

CHUNK_BYTES = 1 << 20
LONGEST_STATEMENT_BYTES = 1 << 16
_NAME = rb'(?:[a-z_][a-z0-9_]*|"[a-z_][a-z0-9_]*")'
_NAMES = rb"%s(?:, %s)*" % (_NAME, _NAME)
COPY = re.compile(rb"COPY public\.(%s) \((%s)\) FROM stdin;" % (_NAME, _NAMES))
POSITION = re.compile(rb"SELECT pg_catalog\.setval\('public\.(%s)', ([0-9]{1,19}), (true|false)\);" % _NAME)
# What pg_restore writes in front of rows and behind them. It is for psql, and does nothing here.
FRAME = (
    re.compile(rb"(--.*)?"),
    re.compile(rb"SET (?!client_encoding|standard_conforming_strings)[a-z_]+ = [a-z0-9]+;"),
    re.compile(rb"SET client_encoding = 'UTF8';"),
    re.compile(rb"SET standard_conforming_strings = on;"),
    re.compile(rb"SELECT pg_catalog\.set_config\('search_path', '', false\);"),
    re.compile(rb"\\(un)?restrict [A-Za-z0-9]+"),
)
# A line of what `pg_restore --list` writes: number, kind, schema, name and owner, of which the name may have spaces.
ENTRY = re.compile(r"[0-9]+; [0-9]+ [0-9]+ (?:TABLE|MATERIALIZED VIEW) DATA (\S+) (.+) \S+")
END_OF_ROWS = b"\\.\n"


class DumpError(Exception):
    """A dump that holds something else than rows and positions, or cannot be read; the message says what."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table: pieces of text in PostgreSQL's COPY format, to be read before the next part is."""

    table: str
    columns: tuple[str, ...]
    pieces: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a sequence goes on."""

    sequence: str
    value: int
    is_called: bool


@contextmanager
def script(command: Sequence[str]) -> Iterator[IO[bytes]]:
    """Run pg_restore and give what it writes. Raises DumpError, with what it says, where it fails."""
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            try:
                yield process.stdout
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            errors.seek(0)
            raise DumpError(f"pg_restore failed: {errors.read(800).decode(errors='replace').strip()}")


def tables(contents: IO[bytes]) -> Iterator[str]:
    """Return the tables of which a list of contents has rows, with their schema unless that is public."""
    for line in contents.read().decode(errors="replace").splitlines():
        if match := ENTRY.fullmatch(line):
            name = match[2] if match[1] == "public" else f"{match[1]}.{match[2]}"
            yield "".join(letter if letter.isprintable() else "?" for letter in name)


def parts(text: IO[bytes]) -> Iterator[Rows | Position]:
    """Read a script part by part. Raises DumpError at the first line that is nothing of these."""
    while line := text.readline(LONGEST_STATEMENT_BYTES):
        statement = line.removesuffix(b"\n")
        if match := COPY.fullmatch(statement):
            pieces = _pieces(text)
            yield Rows(_plain(match[1]), tuple(map(_plain, match[2].split(b", "))), pieces)
            for _ in pieces:
                """What nobody took is passed over."""
        elif match := POSITION.fullmatch(statement):
            yield Position(_plain(match[1]), int(match[2]), match[3] == b"true")
        elif not any(pattern.fullmatch(statement) for pattern in FRAME):
            raise DumpError(f"it holds something else than rows: {statement[:60].decode(errors='replace')!r}")


def _pieces(text: IO[bytes]) -> Iterator[bytes]:
    """Return the text up to the line that ends the rows. Raises DumpError where there is none."""
    is_at_start = True
    while piece := text.readline(CHUNK_BYTES):
        if is_at_start and piece == END_OF_ROWS:
            return
        is_at_start = piece.endswith(b"\n")
        yield piece
    raise DumpError("the rows of a table have no end")


def _plain(name: bytes) -> str:
    return name.strip(b'"').decode()
