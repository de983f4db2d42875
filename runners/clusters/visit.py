"""Visits to clusters of BenchHub's own between runs: to make one, look at it, stop it and remove it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from runners.confinement import apart
from runners.contract import Cluster
from runners.job import sensible
from runners.os_settings.script import put_back_function
from runners.readings import read_sections, storable, whole
from runners.server_settings.parameters import MOST_PARAMETERS, NAME, read_parameters
from runners.ssh import Connections, RemoteFailure, Target

from .script import functions, values

Purpose = Literal["make", "look", "stop", "discard", "remove"]
VISIT = Path(__file__).parent.parent / "target" / "cluster_visit.sh"
TIMEOUT_S = 120.0
MOST_BYTES = 1 << 20
MOST_LIBRARIES = 1000
LONGEST_FOLDER, LONGEST_REFUSAL = 253, 2000
KILOBYTE = 1024
COPY = re.compile(r"([0-9a-f]{32}) ([0-9]{1,15})")
MOST_COPIES = 100


class HostBusyError(Exception):
    """A run is under way on the host: nothing was done."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a visit saw. `folder` is absolute. `settings` are those in force that are not the server's defaults.

    `last_start` is the text of the settings file of its last start. `parameters` and `libraries` come of a make alone.
    `copies` are those of data sets beside it: key and bytes.
    """

    folder: str
    is_there: bool = False
    is_running: bool = False
    size_bytes: int | None = None
    settings: tuple[Mapping[str, Any], ...] = ()
    last_start: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    copies: Mapping[str, int] = field(default_factory=dict)


async def visit(
    connections: Connections, target: Target, cluster: Cluster, work_directory: str, purpose: Purpose, port: int
) -> Sight:
    """Do what the visit is for, and return what there is afterwards. May be repeated after any failure.

    Raises HostBusyError, RemoteFailure with what the host refused, and as `Connections.run`.
    """
    text = _text(cluster, work_directory, purpose, port, target.username)
    answer = await connections.run(
        target, "exec /bin/sh -s", input=text.encode(), timeout_s=TIMEOUT_S, most_bytes=MOST_BYTES
    )
    with sensible(target, answer):
        sight = await apart(read_answer, answer, cluster.folder)
    if isinstance(sight, Sight):
        return sight
    if sight == "BUSY":
        raise HostBusyError
    raise RemoteFailure(sight or "The host refused, and did not say why.", None)


def read_answer(answer: bytes, folder: str) -> Sight | str:
    """Return what a visit to the folder saw, or why the host refused. Raises as `read_sight`."""
    sections = dict(read_sections(answer))
    return sections["refused"][:LONGEST_REFUSAL] if "refused" in sections else read_sight(sections, folder)


def read_sight(sections: Mapping[str, str], folder: str) -> Sight:
    """Return what the sections of a visit to the folder say.

    Raises ValueError, KeyError or TypeError where they make no sense.
    """
    kilobytes = whole(sections.get("kilobytes", ""))
    return Sight(
        folder=_absolute(sections["folder"], folder),
        is_there="version" in sections,
        is_running=bool(sections.get("processes", "").strip()),
        size_bytes=None if kilobytes is None else kilobytes * KILOBYTE,
        settings=tuple(map(_setting, sections.get("settings", "").splitlines()[:MOST_PARAMETERS])),
        last_start=str(storable(sections.get("last_start", ""))),
        parameters=read_parameters(sections["parameters"].replace("\\\\", "\\")) if "parameters" in sections else {},
        libraries=tuple(sorted(filter(NAME.fullmatch, sections.get("libraries", "").split()[:MOST_LIBRARIES]))),
        copies=dict(_copies(sections.get("copies", ""))),
    )


def _absolute(answer: str, folder: str) -> str:
    """Return where the folder lies, as the host says: a relative one below some other. Raises ValueError."""
    is_there = answer == folder if folder[:1] == "/" else answer[:1] == "/" and answer.endswith(f"/{folder}")
    if not is_there or len(answer) > LONGEST_FOLDER or not answer.isprintable():
        raise ValueError(f"{answer[:LONGEST_FOLDER]!r} is not where the cluster was to lie.")
    return answer


def _copies(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines()[:MOST_COPIES]:
        if match := COPY.fullmatch(line):
            yield match[1], int(match[2]) * KILOBYTE


def _setting(line: str) -> Mapping[str, Any]:
    row = json.loads(line)
    return {name: str(storable(row[name]) or "") for name in ("name", "setting", "unit")}


def _text(cluster: Cluster, work_directory: str, purpose: Purpose, port: int, username: str) -> str:
    words = {
        "work": work_directory.removeprefix("$HOME/").removeprefix("~/"),
        "purpose": purpose,
        "port": str(port),
        "user": username,
    }
    lines = ["export LC_ALL=C", *(f"{name}={shlex.quote(word)}" for name, word in words.items())]
    parts = [*lines, put_back_function(), values(cluster), functions(), VISIT.read_text()]
    # Read whole before anything runs: a visit whose connection breaks half way does nothing.
    return "{\n" + "\n".join(parts) + "\nexit\n}\n"
