"""Read what a look at a server saw. What a server says is never believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from runners.poolers import answer as pooler_answer
from runners.readings import read_sections, storable, whole
from runners.server_settings.parameters import read_parameters

MOST_DATABASES, LONGEST_NAME, LONGEST_TEXT = 200, 200, 2000
KILOBYTE = 1024
TRUTHS = ("may_create", "is_superuser", "is_monitor", "may_checkpoint", "is_standby")
NUMBERS = ("version_num", "standbys", "statements", "sessions", "other_tables")
SETTINGS = (
    "data_checksums",
    "fsync",
    "full_page_writes",
    "synchronous_commit",
    "max_connections",
    "allow_alter_system",
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look saw. `errors` is what the log-in failed with, else empty; None is what the server did not say.

    Where runs may change its settings, `parameters` are those that it knows, `owns_file` tells whether the account of
    the host could mend postgresql.auto.conf while the server is away, and `command_error` what is wrong with the
    command of its restart. `databases` are those of the server, as far as it could be logged in to. `pooler` is what
    the pooler in front of it said of itself, None where none was tried; `pooler_error` says why no load can go through.
    """

    errors: str = ""
    version: str = ""
    version_num: int | None = None
    schema: str = ""
    may_create: bool | None = None
    is_superuser: bool | None = None
    is_monitor: bool | None = None
    may_checkpoint: bool | None = None
    is_standby: bool | None = None
    standbys: int | None = None
    free_bytes: int | None = None
    statements: int | None = None
    sessions: int | None = None
    other_tables: int | None = None
    settings: Mapping[str, str] | None = None
    databases: tuple[str, ...] = ()
    owns_file: bool | None = None
    command_error: str = ""
    parameters: Mapping[str, Any] | None = None
    pooler: Mapping[str, Any] | None = None
    pooler_error: str = ""


def read_answer(answer: bytes, user: str) -> Seen | str:
    """Return what an answer to a user's look says, or why the host refused it. Raises as `read`."""
    sections = dict(read_sections(answer))
    return sections["refused"][:LONGEST_TEXT] if "refused" in sections else read(sections, user)


def read(sections: Mapping[str, str], user: str) -> Seen:
    """Return what the sections of a user's look say. Raises ValueError, KeyError or TypeError where they are wrong."""
    databases = _names(sections.get("databases", "").splitlines())
    if "errors" in sections:
        return Seen(errors=_text_of(sections["errors"]) or "psql said nothing about it", databases=databases)
    row = json.loads(sections["seen"])
    if not isinstance(row, dict):
        raise ValueError("This is no answer of a look.")
    settings = row["settings"] if isinstance(row.get("settings"), dict) else {}
    measured: dict[str, Any] = {name: row[name] if isinstance(row.get(name), bool) else None for name in TRUTHS}
    measured |= {name: whole(str(row[name])) if isinstance(row.get(name), int) else None for name in NUMBERS}
    return Seen(
        databases=databases,
        version=_line(row["version"]),
        schema=_line(row.get("schema") or ""),
        free_bytes=_free_bytes(sections.get("room", "")),
        owns_file=sections["file"] == "own" if "file" in sections else None,
        command_error=_line(sections.get("command", "")),
        pooler=asdict(pooler_answer.read(sections, user)) if "pooler_way" in sections else None,
        pooler_error=_text_of(sections.get("pooler_way", "")),
        parameters=_parameters(sections.get("parameters", "")),
        settings={name: _line(settings[name]) for name in SETTINGS if isinstance(settings.get(name), str)},
        **measured,
    )


def _parameters(text: str) -> dict[str, Any] | None:
    return read_parameters(text) if text else None


def _free_bytes(line: str) -> int | None:
    """Return the room that df names in its fourth column; device names with blanks leave it unknown."""
    columns = line.split()
    kilobytes = whole(columns[3]) if len(columns) == 6 else None
    return None if kilobytes is None else min(kilobytes, 2**53) * KILOBYTE


def _names(names: Any) -> tuple[str, ...]:
    texts = [_line(name) for name in list(names)[:MOST_DATABASES] if isinstance(name, str)]
    return tuple(text for text in texts if text)


def _line(text: Any) -> str:
    return str(storable(str(text)[:LONGEST_NAME]) or "").strip().partition("\n")[0]


def _text_of(text: str) -> str:
    return str(storable(text[-LONGEST_TEXT:]) or "").strip()
