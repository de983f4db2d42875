"""From raw counters to the metrics over time, on the grid of a load: second by second from its beginning.

A counter's value at the edge of a second is interpolated between the two samples around it, so that rates are of whole
seconds of the load, whenever the collector could look. Across a gap, and where a counter went back, nothing is said.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from runners.readings import decimal

from .collector import MOST_SAMPLES, step_s
from .log import Group, Log, parse
from .metrics import (
    BY_NAME,
    DRIVER_PREFIX,
    METRICS,
    MOST_WAITS,
    OTHER_WAITS,
    WAIT_PREFIX,
    WAIT_UNIT,
    Metric,
    alternatives,
    is_of_server,
)

LONGEST_GAP_STEPS = 4
NEAR_STEPS = 0.3
LARGEST = 1e15
CUT_SHORT = "The telemetry was cut short: its collector did not end by itself."
FULL = "The telemetry ends early: its log reached the most bytes that it may have."
UNREADABLE = "The telemetry cannot be read: what its collector noted is no log of it."
NOTHING = "There is no telemetry: its collector noted nothing."
NO_SERVER = (
    "The telemetry has nothing of PostgreSQL: its session was refused, the server is too old, or its database has no"
    " language plpgsql."
)
NO_MACHINE = "The machine of the server was not observed: only the driver's was, and PostgreSQL itself."
NO_WAL = "PostgreSQL {} tells nothing of its WAL records, writes and syncs: 14 and newer versions do."
WAL_SINCE = 140000
CLOCK, COLLECTOR = "clock.server", "collector_cpu"
NO_DISK = "The device of the data directory is not known, so disks are those of the machine."

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Observation:
    """One metric over time; value i is of the step that ends after i + 1 steps, None where nothing is known."""

    metric: str
    unit: str
    values: Values


@dataclass(frozen=True, slots=True)
class Telemetry:
    """All metrics of a load on one grid of time. `remarks` say what is missing that could be there."""

    start_epoch_s: float = 0.0
    step_s: float = 1.0
    observations: tuple[Observation, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Load:
    """When the load began, and when all was over, by the uptime of its machine. Without that, it was killed."""

    begin_s: float
    over_s: float | None


def read(content: bytes, steps: bytes, load_s: int, server: bytes | None = None) -> Telemetry:
    """Return the metrics of a collector's log over the load that the file of steps tells of, planned for `load_s`.

    `server` is the log of the server's machine where that is another one, and empty where nothing watched it.
    """
    log, load = parse(content), load_of(steps)
    if not log.groups:
        return Telemetry(remarks=(UNREADABLE if content and not log.is_known else NOTHING,))
    if load is None:
        return Telemetry()
    if server is None:
        return observed(log, load, step_s(load_s))
    return _apart(log, parse(server), load, step_s(load_s))


def load_of(steps: bytes) -> Load | None:
    """Return the bounds of the load out of lines 'name uptime'; None where it did not begin."""
    times_s: dict[str, float] = {}
    for line in steps[: 64 << 10].decode("ascii", errors="replace").splitlines():
        name, _, uptime = line.partition(" ")
        if (uptime_s := decimal(uptime)) is not None:
            times_s.setdefault(name, uptime_s)
    return Load(times_s["measure"], times_s.get("after")) if "measure" in times_s else None


def observed(log: Log, load: Load, step: int) -> Telemetry:
    """Return every metric that the log has anything of."""
    reader = _Reader(log, _edges(log, load, step), step)
    observations = [*reader.metrics(), *reader.waits()]
    return Telemetry(
        start_epoch_s=round(log.epoch_s + load.begin_s, 3),
        step_s=step,
        observations=tuple(item for item in observations if any(value is not None for value in item.values)),
        remarks=tuple(_remarks(log)),
    )


def _apart(log: Log, server: Log, load: Load, step: int) -> Telemetry:
    """Return the metrics of two machines on the grid of the load; those of the driver's are named so."""
    both = observed(log, load, step)
    own = [_of_driver(item) for item in both.observations]
    remarks = [remark for remark in both.remarks if remark != NO_DISK]
    if not server.groups:
        return replace(both, observations=tuple(own), remarks=(*remarks, NO_MACHINE))
    ahead_s = _ahead_s(log, server)
    edges = [edge + ahead_s for edge in _edges(log, load, step)]
    machine = [item for item in _Reader(server, edges, step).metrics() if item.metric != COLLECTOR]
    machine = [item for item in machine if any(value is not None for value in item.values)]
    return replace(both, observations=(*own, *machine), remarks=tuple(remarks))


def _of_driver(item: Observation) -> Observation:
    metric = BY_NAME.get(item.metric)
    if metric is None or is_of_server(metric):
        return item
    return replace(item, metric=DRIVER_PREFIX + item.metric)


def _ahead_s(log: Log, server: Log) -> float:
    """Return how far the server's uptime is ahead of the driver's, by the server's clock as its session told it.

    An answer can only be late, so the earliest counts. Without a session the clocks of both are taken to agree.
    """
    group = log.groups.get("pg")
    epochs = group.column(CLOCK) if group and CLOCK in group.names else []
    times_s = group.times_s if group else []
    ahead = [epoch - at_s for at_s, epoch in zip(times_s, epochs, strict=False) if epoch is not None]
    return min(ahead, default=log.epoch_s) - server.epoch_s


def _edges(log: Log, load: Load, step: int) -> list[float]:
    """Return the uptimes at which steps begin and end; a last part of a step is left out."""
    last_s = max((group.times_s[-1] for group in log.groups.values() if group.times_s), default=load.begin_s)
    end_s = log.ended_s or (last_s if load.over_s is None else load.over_s)
    steps = min(MOST_SAMPLES, max(1, math.floor((end_s - load.begin_s) / step + 0.1)))
    return [load.begin_s + step * i for i in range(steps + 1)]


def _remarks(log: Log) -> Iterator[str]:
    if not log.is_whole and not log.is_full:
        yield CUT_SHORT
    if log.is_full:
        yield FULL
    if "pg" not in log.groups:
        yield NO_SERVER
    elif 0 < log.server_version < WAL_SINCE:
        yield NO_WAL.format(log.server_version // 10000)
    if "pg" in log.groups and "all" in log.places:
        yield NO_DISK


class _Reader:
    """Reads metrics out of one log on one grid; columns at the edges are computed once each."""

    def __init__(self, log: Log, edges: Sequence[float], step: int) -> None:
        self.log, self.edges, self.step = log, edges, step
        self._columns: dict[tuple[str, bool], list[float | None] | None] = {}

    def metrics(self) -> Iterator[Observation]:
        for metric in METRICS:
            if (values := self._values(metric)) is not None:
                yield Observation(metric.name, metric.unit, tuple(map(_finite, values)))

    def waits(self) -> Iterator[Observation]:
        """Yield the sessions by what they wait for, the most waited for first; the rest together."""
        if "pg" not in self.log.groups:
            return
        times_s = self.log.groups["pg"].times_s
        totals: Counter[str] = Counter()
        for waits in self.log.waits.values():
            totals.update(waits)
        events = [event for event, _ in totals.most_common()]
        most = events if len(events) <= MOST_WAITS else events[: MOST_WAITS - 1]
        parts = [[event] for event in most] + ([events[len(most) :]] if len(most) < len(events) else [])
        for part in parts:
            sums: list[float | None] = [self._sessions(at_s, part) for at_s in times_s]
            name = part[0] if len(part) == 1 else OTHER_WAITS
            yield Observation(WAIT_PREFIX + name, WAIT_UNIT, tuple(self._nearest(times_s, sums)))

    def _sessions(self, at_s: float, events: Sequence[str]) -> float:
        waits = self.log.waits.get(at_s, {})
        return sum(waits.get(event, 0.0) for event in events)

    def _values(self, metric: Metric) -> list[float | None] | None:
        if metric.derivation == "gauge":
            level = self._sum(metric.source, is_counter=False)
            return level and [None if value is None else value * metric.factor for value in level[1:]]
        growth = self._growth(metric.source)
        if growth is None:
            return None
        if metric.derivation == "rate":
            return [None if value is None else value * metric.factor / self.step for value in growth]
        base = self._growth(metric.base)
        return base and [_ratio(*pair, metric.factor) for pair in zip(growth, base, strict=True)]

    def _growth(self, source: str) -> list[float | None] | None:
        """Return how much a counter grew in each step; None for a step in which it went back by more than a tick."""
        levels = self._sum(source, is_counter=True)
        return levels and [_difference(before, after) for before, after in pairwise(levels)]

    def _sum(self, source: str, *, is_counter: bool) -> list[float | None] | None:
        """Return the values at the edges of the first alternative of which at least one part is there."""
        for names in alternatives(source):
            columns = [column for name in names if (column := self._column(name, is_counter=is_counter)) is not None]
            if columns:
                return [_total(values) for values in zip(*columns, strict=True)]
        return None

    def _column(self, name: str, *, is_counter: bool) -> list[float | None] | None:
        key = name, is_counter
        if key not in self._columns:
            self._columns[key] = self._read(name, is_counter=is_counter)
        return self._columns[key]

    def _read(self, name: str, *, is_counter: bool) -> list[float | None] | None:
        parts = [part for part in map(self._raw, self._raw_names(name)) if part]
        columns = [self._at_edges(*part, is_counter=is_counter) for part in parts]
        return [_total(values) for values in zip(*columns, strict=True)] if columns else None

    def _raw_names(self, name: str) -> list[tuple[str, str]]:
        """Return group and name in the log: devices for a role, the server's one group for all of its views."""
        group, _, column = name.rpartition(".")
        if group.startswith("disk."):
            return [(f"disk.{device}", column) for device in self._devices(group.removeprefix("disk."))]
        return [(group, column)] if group in self.log.groups else [("pg", name)]

    def _devices(self, role: str) -> list[str]:
        """Return the devices of a role; none for WAL on the device of the data, which is one and the same."""
        devices = self.log.places.get(role, [])
        return [device for device in devices if role != "wal" or device not in self.log.places.get("data", [])]

    def _raw(self, place: tuple[str, str]) -> tuple[list[float], list[float | None]] | None:
        group_name, column = place
        group = self.log.groups.get(group_name)
        if group is None or column not in group.names:
            return None
        return _without_blanks(group, column, 1 / self.log.clock_ticks if place == ("self", "ticks") else 1.0)

    def _at_edges(self, times_s: list[float], values: list[float | None], *, is_counter: bool) -> list[float | None]:
        if is_counter:
            return [self._interpolated(times_s, values, edge) for edge in self.edges]
        return [None, *self._nearest(times_s, values)]

    def _interpolated(self, times_s: Sequence[float], values: Sequence[float | None], edge: float) -> float | None:
        """Return the value at this time on the line through the samples around it; at the ends one that is near."""
        after = bisect_left(times_s, edge)
        if after in (0, len(times_s)):
            end = min(after, len(times_s) - 1)
            return values[end] if abs(times_s[end] - edge) <= NEAR_STEPS * self.step else None
        first_s, last_s, first, last = times_s[after - 1], times_s[after], values[after - 1], values[after]
        if edge == last_s:
            return last
        if first is None or last is None or last_s - first_s > LONGEST_GAP_STEPS * self.step:
            return None
        return first + (last - first) * (edge - first_s) / (last_s - first_s)

    def _nearest(self, times_s: Sequence[float], values: Sequence[float | None]) -> list[float | None]:
        """Return for each step the value that was noted nearest to its middle, if one was within a step of it."""
        nearest: list[float | None] = []
        for begin in self.edges[:-1]:
            middle = begin + self.step / 2
            place = bisect_left(times_s, middle)
            near = [i for i in (place - 1, place) if 0 <= i < len(times_s)]
            i = min(near, key=lambda i: abs(times_s[i] - middle), default=None)
            nearest.append(values[i] if i is not None and abs(times_s[i] - middle) <= self.step else None)
        return nearest


def _without_blanks(group: Group, column: str, factor: float) -> tuple[list[float], list[float | None]] | None:
    pairs = zip(group.times_s, group.column(column), strict=True)
    present = [(at_s, value * factor) for at_s, value in pairs if value is not None]
    return ([at_s for at_s, _ in present], [value for _, value in present]) if present else None


def _total(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) if len(present) == len(values) else None


def _difference(before: float | None, after: float | None) -> float | None:
    """Return the growth; a tick back is none, as idle and iowait may take it (proc(5)), and more is no counter."""
    if before is None or after is None or after - before < -2:
        return None
    return max(0.0, after - before)


def _ratio(growth: float | None, base: float | None, factor: float) -> float | None:
    return None if growth is None or not base else growth / base * factor


def _finite(value: float | None) -> float | None:
    return value if value is not None and abs(value) <= LARGEST else None
