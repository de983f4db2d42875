"""Compute whom the exclusive periods of experiments keep out, which of them overlap, and how long they hold a host.

Times are aware; lengths are timedeltas. No clock is read here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from zoneinfo import ZoneInfo

from .timetable import DAY, Period, merged

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


def most_held(periods: Iterable[Period], zone: str, span: timedelta) -> timedelta:
    """Return for how long the periods hold a host within any span, by the clock on the wall of a zone.

    A whole day is 24 hours there on every day, so that a limit does not depend on when clocks change.
    """
    wall = ZoneInfo(zone)
    local = (Period(_local(period.start, wall), _local(period.end, wall)) for period in periods)
    apart = merged(period for period in local if period.start < period.end)
    ends = [period.end for period in apart]
    held = list(accumulate((period.end - period.start for period in apart), initial=NO_TIME))
    return max((_held(apart, ends, held, number, span) for number in range(len(apart))), default=NO_TIME)


def _held(
    apart: Sequence[Period], ends: Sequence[datetime], held: Sequence[timedelta], number: int, span: timedelta
) -> timedelta:
    """Return what is held of the span that begins with this period: the most does so, or holds no more."""
    last = apart[number].start + span
    whole = bisect_right(ends, last)
    rest = last - apart[whole].start if whole < len(apart) else NO_TIME
    return held[whole] - held[number] + max(rest, NO_TIME)


def _local(at: datetime, zone: ZoneInfo) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None)


def local_text(at: datetime, zone: str) -> str:
    """Write a moment by the clock of a zone: '2026-11-28 06:00 (Europe/Berlin)'."""
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} ({zone})"


def span_text(period: Period, zone: str) -> str:
    """Write a period by the clock of a zone, which is named once."""
    return f"{period.start.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} to {local_text(period.end, zone)}"
