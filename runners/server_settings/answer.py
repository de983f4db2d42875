"""What the keeper wrote down beside a run: each setting of the server before, as applied, at the end, and put back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from runners.contract import Doubt
from runners.readings import storable

LOG_FILE = "server_settings.log"
MOST_BYTES = 256 << 10
LINE = re.compile(r"(before|applied|end|after) ([A-Za-z_]{1,80}) (.{0,1000})")
HELD = (
    "changes settings of this server already. If no BenchHub runs there any more, put them back by its"
    " server_settings.sh, then DROP ROLE benchhub_keeper."
)
HELD_MEANWHILE = (
    "Another BenchHub, or another work directory, had changed settings of the server for a run of its own meanwhile:"
    " the numbers may be of that configuration. Run it again."
)


@dataclass(frozen=True, slots=True)
class ServerValue:
    """A setting at four moments of a run, as SHOW has it; None where nothing tells."""

    before: str | None = None
    applied: str | None = None
    end: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class ServerLog:
    """The settings of a run by name. `is_overdue`: put back at a deadline, while the run went on."""

    values: Mapping[str, ServerValue] = field(default_factory=dict)
    is_overdue: bool = False


def read_log(log: bytes, names: Mapping[str, str]) -> ServerLog:
    """Return what the log of a run says of these names. Lines that make no sense are passed over."""
    lines = log[:MOST_BYTES].decode(errors="replace").split("\n")
    rows: dict[str, dict[str, str]] = {}
    for line in lines:
        if (match := LINE.fullmatch(line)) and match[2] in names:
            rows.setdefault(match[2], {})[match[1]] = str(storable(match[3]))
    return ServerLog({name: ServerValue(**values) for name, values in rows.items()}, "overdue" in lines)


def is_held(stderr: str) -> bool:
    """Tell whether a run ended before it changed anything, because another work directory had changed its server."""
    return HELD in stderr


def facts(log: ServerLog) -> dict[str, dict[str, str | None]]:
    """Return the values as plain data, to be stored with the run."""
    return {name: asdict(value) for name, value in log.values.items()}


def neighbour_doubts(deltas: Mapping[str, Any]) -> Iterator[Doubt]:
    """Yield a doubt where the counters around a run that changed nothing say that another one had changed its
    server."""
    if deltas.get("is_held"):
        yield Doubt("server-settings-held", HELD_MEANWHILE)


def doubts(requests: Mapping[str, str], log: ServerLog, *, is_put_back: bool) -> Iterator[Doubt]:
    """Yield a doubt for each setting that did not last as it was applied, and for what was not put back.

    `is_put_back`: the host has said so since. Its word counts whatever the log lacks, which ends where its keeper does.
    """
    if requests and log.is_overdue:
        text = "The settings of the server were put back at a deadline, before the run had ended."
        yield Doubt("server-settings-overdue", text)
    for name in requests:
        value = log.values.get(name, ServerValue())
        if value.end is None:
            yield Doubt("server-settings-changed", f"Nothing tells what {name} was at the end of the run.")
        elif value.end != value.applied:
            actual = f"{name} was {value.end} at the end of the run, although {value.applied} had been applied"
            yield Doubt("server-settings-changed", f"{actual}: something else changed it.")
    values = [log.values.get(name, ServerValue()) for name in requests]
    if not is_put_back or any(value.after not in (None, value.before) for value in values):
        text = f"Nothing proves that the server has {', '.join(requests) or 'its settings'} as before the run."
        yield Doubt("server-settings-left", text)
