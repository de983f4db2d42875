"""Compute whom the exclusive periods of experiments keep out, which of them overlap, and how long they hold a host.

Times are aware; lengths are timedeltas. No clock is read here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import accumulate
from zoneinfo import ZoneInfo

from .timetable import DAY, Period, merged, moment

NO_TIME = timedelta()
OTHERS = timedelta(hours=3)  # what is left to others between two periods, where the limit is about a day or more


@dataclass(frozen=True, slots=True)
class Exclusive:
    """A period in which an experiment has resources (hosts, servers, shared hardware) to itself.

    `family` names the experiment and those that it lets in: parts of its design, turns of its plan. `zone` is that of
    the clock by which the period was written.
    """

    name: str
    family: frozenset[str]
    resources: frozenset[str]
    period: Period
    zone: str

    def keeps_out(self, family: Collection[str], resources: Collection[str]) -> bool:
        """Tell whether it keeps out who is of this family and needs these resources."""
        return self.family.isdisjoint(family) and not self.resources.isdisjoint(resources)

    def reaches_into(self, start: datetime, end: datetime) -> bool:
        return self.period.start < end and start < self.period.end

    @property
    def end_text(self) -> str:
        return local_text(self.period.end, self.zone)

    @property
    def text(self) -> str:
        """Say from when until when: '2026-11-27 22:00 to 2026-11-28 06:00 (Europe/Berlin)'."""
        return span_text(self.period, self.zone)


def first_overlap(periods: Iterable[Period], others: Iterable[Exclusive]) -> Exclusive | None:
    """Return the earliest of the others that overlaps with one of the periods; None where none does."""
    apart = merged(periods)
    overlapping = (other for other in others if _overlaps(other.period, apart))
    return min(overlapping, key=lambda other: other.period, default=None)


def _overlaps(period: Period, apart: Sequence[Period]) -> bool:
    """Tell whether the period overlaps with one of those, which are in order and neither overlap nor touch."""
    before_end = bisect_left(apart, period.end, key=lambda other: other.start)
    return before_end > 0 and apart[before_end - 1].end > period.start


def span_of(limit: timedelta) -> timedelta:
    """Return the span in which a host is held for the limit at most: a day, or a little longer than the limit."""
    return max(DAY, limit + OTHERS)


@dataclass(frozen=True, slots=True)
class Excess:
    """More time than is lent of a host: how much of it a span holds, and the names of the others within that span."""

    held: timedelta
    names: tuple[str, ...]


def excess(own: Sequence[Exclusive], others: Collection[Exclusive], limit: timedelta) -> Excess | None:
    """Return what the span holds in which the own periods, with those of others, hold a host for longest.

    None where they add no time to a span that is held for longer than the limit: what others hold anyway is none of
    theirs. Relatives are among the others, but are not named.
    """
    before, after = _Held(others), _Held([*others, *own])
    spans = [span for span in after.spans(span_of(limit)) if limit < after.time(span) > before.time(span)]
    if not spans:
        return None
    worst = max(spans, key=after.time)
    companions = (row for row in others if row.reaches_into(worst.start, worst.end))
    names = {row.name for row in companions if row.family.isdisjoint(own[0].family)}
    return Excess(after.time(worst), tuple(sorted(names)))


class _Held:
    """The time in which periods hold a host: each moment once, and counted by the clock of its own period.

    A whole day is 24 hours by that clock on every day, so that a limit does not depend on when clocks change.
    """

    def __init__(self, rows: Iterable[Exclusive]) -> None:
        self._rows = list(_apart(rows))
        self._starts = [row.period.start for row in self._rows]
        self._ends = [row.period.end for row in self._rows]
        self._sums = list(accumulate((_length(row, row.period) for row in self._rows), initial=NO_TIME))

    def spans(self, length: timedelta) -> Iterator[Period]:
        """Yield the spans that begin or end with a period: one of these holds the most."""
        for row in self._rows:
            zone, start, end = ZoneInfo(row.zone), row.period.start, row.period.end
            yield Period(start, moment(_local(start, zone) + length, zone))
            yield Period(moment(_local(end, zone) - length, zone, last=True), end)

    def time(self, span: Period) -> timedelta:
        """Return for how long the host is held within the span."""
        first, last = self._places(span)
        edges = {first, last - 1} if first < last else ()
        beyond = sum((_beyond(self._rows[place], span) for place in edges), NO_TIME)
        return self._sums[last] - self._sums[first] - beyond

    def _places(self, span: Period) -> tuple[int, int]:
        first = bisect_right(self._ends, span.start)
        return first, max(first, bisect_left(self._starts, span.end))


def _apart(rows: Iterable[Exclusive]) -> Iterator[Exclusive]:
    """Yield the rows in order, each without the time that earlier ones have."""
    end: datetime | None = None
    for row in sorted(rows, key=lambda row: (row.period, row.zone)):
        period = Period(max(row.period.start, end or row.period.start), row.period.end)
        if period.start < period.end:
            yield replace(row, period=period)
            end = period.end


def _length(row: Exclusive, period: Period) -> timedelta:
    """Return how long the period is by the row's clock."""
    zone = ZoneInfo(row.zone)
    return max(_local(period.end, zone) - _local(period.start, zone), NO_TIME)


def _beyond(row: Exclusive, span: Period) -> timedelta:
    """Return how much of the row's period lies outside the span, which it touches."""
    inside = Period(max(row.period.start, span.start), min(row.period.end, span.end))
    return _length(row, row.period) - _length(row, inside)


def _local(at: datetime, zone: ZoneInfo) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None)


def local_text(at: datetime, zone: str) -> str:
    """Write a moment by the clock of a zone: '2026-11-28 06:00 (Europe/Berlin)'."""
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} ({zone})"


def span_text(period: Period, zone: str) -> str:
    """Write a period by the clock of a zone, which is named once."""
    return f"{period.start.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} to {local_text(period.end, zone)}"
