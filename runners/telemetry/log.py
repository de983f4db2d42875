"""Read the collector's log: raw counters by group, each with the machine's uptime. A log may say anything.

What cannot be read is left out: a line of another form, a number that is none, a time that goes back. Everything is
bounded, whatever the file holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from runners.readings import decimal

from .collector import MOST_BYTES, MOST_SAMPLES

TITLE = "telemetry 1"
NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,64}")
MOST_GROUPS, MOST_NAMES, LONGEST_LINE = 100, 100, 8000
MOST_ROWS = MOST_SAMPLES + 100
MOST_EVENTS = 200
AT = "at"

Values = tuple[float | None, ...]


@dataclass(slots=True)
class Group:
    """Rows of raw values under the same names, by the uptime at which they were noted."""

    names: tuple[str, ...] = ()
    times_s: list[float] = field(default_factory=list)
    rows: list[Values] = field(default_factory=list)

    def add(self, at_s: float, values: Values) -> None:
        if len(values) == len(self.names) and len(self.rows) < MOST_ROWS and at_s > (self.times_s or [-1.0])[-1]:
            self.times_s.append(at_s)
            self.rows.append(values)

    def column(self, name: str) -> list[float | None]:
        place = self.names.index(name)
        return [row[place] for row in self.rows]


@dataclass(slots=True)
class Log:
    """A whole log. `epoch_s` is the wall clock's time at uptime 0, `ended_s` the uptime at which the load
    had ended; `places` are devices by role; waits by their time.

    `is_whole` tells that the collector ended by itself, `is_full` that it reached its most bytes.
    """

    epoch_s: float = 0.0
    ended_s: float | None = None
    clock_ticks: float = 100.0
    server_version: int = 0
    places: dict[str, list[str]] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    waits: dict[float, Mapping[str, float]] = field(default_factory=dict)
    is_known: bool = False
    is_whole: bool = False
    is_full: bool = False


def parse(content: bytes) -> Log:
    """Return what a log says, as far as it can be read."""
    log, at_s = Log(), 0.0
    lines = content[: MOST_BYTES + LONGEST_LINE].decode("ascii", errors="replace").split("\n")
    log.is_known = lines[0] == TITLE
    events: set[str] = set()
    for line in lines if log.is_known else ():
        words = line.split(" ") if len(line) <= LONGEST_LINE else [""]
        if words[0] == "@":
            at_s = decimal(words[-1]) or at_s
        elif words[0] == ":":
            _head(log, words[1:])
        elif words[0] == "wait":
            _wait(log, words[1:], events)
        elif (group := log.groups.get(words[0])) is not None:
            _row(group, at_s, words[1:])
        else:
            _fact(log, words)
    return log


def _head(log: Log, words: Sequence[str]) -> None:
    """Take the names of a group; a group whose names change begins anew."""
    is_fit = len(words) <= MOST_NAMES and all(map(NAME.fullmatch, words)) and len(set(words)) == len(words)
    if is_fit and len(words) > 1 and (words[0] in log.groups or len(log.groups) < MOST_GROUPS):
        log.groups[words[0]] = Group(tuple(words[1:]))


def _row(group: Group, at_s: float, words: Sequence[str]) -> None:
    values = tuple(None if word == "-" else decimal(word) for word in words)
    own_time = values[0] if group.names[0] == AT and values else at_s
    if own_time is not None:
        group.add(own_time, values)


def _wait(log: Log, words: Sequence[str], events: set[str]) -> None:
    """Take the sessions by the event that they wait for: event=sessions."""
    at_s = decimal(words[0]) if words else None
    if at_s is None or len(log.waits) >= MOST_ROWS:
        return
    waits: dict[str, float] = {}
    for word in words[1:]:
        event, _, sessions = word.rpartition("=")
        is_fit = NAME.fullmatch(event) and (event in events or len(events) < MOST_EVENTS)
        if is_fit and (count := decimal(sessions)) is not None:
            events.add(event)
            waits[event] = count
    log.waits[at_s] = waits


def _fact(log: Log, words: Sequence[str]) -> None:
    numbers = [decimal(word) for word in words[1:]]
    match words[0], numbers:
        case "epoch", [float(epoch_s), float(uptime_s)]:
            log.epoch_s = epoch_s - uptime_s
        case "ended", [float(uptime_s)]:
            log.ended_s = uptime_s
        case "clock_ticks", [float(ticks)] if ticks > 0:
            log.clock_ticks = ticks
        case "server", [float(version)] if version < 10**7:
            log.server_version = int(version)
        case "place", [_, _] if len(log.places) < 10 and all(map(NAME.fullmatch, words[1:])):
            log.places.setdefault(words[1], []).append(words[2])
            if words[1] == "data":  # the server has said it after all
                log.places.pop("all", None)
        case "full", []:
            log.is_full = True
        case "end", []:
            log.is_whole = True
