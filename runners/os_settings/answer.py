"""What the helper wrote down beside a run: each setting before, as applied, at the end, and once it was put back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from runners.contract import Doubt

from .names import SETTINGS

LOG_FILE = "os_settings.log"
MOST_BYTES = 64 << 10
LINE = re.compile(r"(before|applied|end|after) ([a-z_.]{1,60}) ([a-z0-9+-]{1,30})")


@dataclass(frozen=True, slots=True)
class OsValue:
    """A setting at four moments of a run; None where nothing tells."""

    before: str | None = None
    applied: str | None = None
    end: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class OsLog:
    """The settings of a run by name. `is_overdue`: they were put back at the deadline, while the run went on.

    `is_restored`: whoever held them was killed, and they were put back after it.
    """

    values: Mapping[str, OsValue]
    is_overdue: bool = False
    is_restored: bool = False


def read_log(log: bytes) -> OsLog:
    """Return what the log of a run says. Lines that make no sense are passed over."""
    lines = log[:MOST_BYTES].decode("ascii", errors="replace").split("\n")
    rows: dict[str, dict[str, str]] = {}
    for line in lines:
        if (match := LINE.fullmatch(line)) and match[2] in SETTINGS:
            rows.setdefault(match[2], {})[match[1]] = match[3]
    return OsLog({name: OsValue(**values) for name, values in rows.items()}, "overdue" in lines, "restored" in lines)


def facts(log: OsLog) -> dict[str, dict[str, str | None]]:
    """Return the values as plain data, to be stored with the run."""
    return {name: asdict(value) for name, value in log.values.items()}


def doubts(requests: Mapping[str, str], log: OsLog) -> Iterator[Doubt]:
    """Yield a doubt for each setting that did not last as it was asked for, or was not put back."""
    if requests and log.is_overdue:
        text = "The settings of the operating system were put back at a deadline, before the run had ended."
        yield Doubt("os-settings-overdue", text)
    for name, requested in requests.items():
        value = log.values.get(name, OsValue())
        if value.end is None:
            yield Doubt("os-settings-changed", f"Nothing tells what {name} was at the end of the run.")
        elif value.end != requested:
            actual = f"{name} was {value.end} at the end of the run, although {requested} had been set"
            yield Doubt("os-settings-changed", f"{actual}: something else changed it.")
        if value.before != value.after and not (value.after is None and log.is_restored):
            text = f"{name} was {value.before} before the run and is {value.after or 'not known'} after it"
            yield Doubt("os-settings-left", f"{text}: it was not put back.")
