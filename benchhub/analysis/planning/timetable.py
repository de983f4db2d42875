"""Periods of time: weekly windows in local time as moments, and when something of a known length fits in.

Times that come in and go out are aware, and go out in UTC; lengths are timedeltas. No clock is read here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """From `start` on until just before `end`."""

    start: datetime
    end: datetime


def moment(local: datetime, zone: ZoneInfo, *, last: bool = False) -> datetime:
    """When a clock on the wall of `zone` shows the naive time `local`, in UTC.

    A time that the clock shows twice is the first of the two, or the `last`. One that it skips is the moment at
    which it skips.
    """
    early, late = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if early > late:
        return _change(late, early, zone)
    return late if last else early


def _change(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The moment in (before, after] at which the zone's offset changes, to the second."""
    old = before.astimezone(zone).utcoffset()
    while after - before > SECOND:
        middle = before + (after - before) // 2
        if middle.astimezone(zone).utcoffset() == old:
            before = middle
        else:
            after = middle
    return after.replace(microsecond=0)


def occurrences(
    weekdays: Collection[int], starts: time, ends: time, zone: str, first: datetime, last: datetime
) -> list[Period]:
    """The periods of a weekly window that end after `first` and start before `last`, in order.

    `weekdays` (0 is Monday) are those on which it starts. An end that is not after the start is that of the next
    day. The window runs from the first time that the clock shows its start to the last that it shows its end; one
    that the clock skips altogether does not occur.
    """
    time_zone = ZoneInfo(zone)
    days = (day for day in _days(first - 2 * DAY, last + DAY, time_zone) if day.weekday() in weekdays)
    periods = (_occurrence(day, starts, ends, time_zone) for day in days)
    return [period for period in periods if period.start < period.end and period.end > first and period.start < last]


def _days(first: datetime, last: datetime, zone: ZoneInfo) -> Iterable[date]:
    day, until = first.astimezone(zone).date(), last.astimezone(zone).date()
    return (day + i * DAY for i in range((until - day).days + 1))


def _occurrence(day: date, starts: time, ends: time, zone: ZoneInfo) -> Period:
    last_day = day if ends > starts else day + DAY
    return Period(
        moment(datetime.combine(day, starts), zone), moment(datetime.combine(last_day, ends), zone, last=True)
    )


def merged(periods: Iterable[Period]) -> list[Period]:
    """The same time as periods that neither overlap nor touch, in order."""
    periods_merged: list[Period] = []
    for period in sorted(periods):
        if periods_merged and period.start <= periods_merged[-1].end:
            periods_merged[-1] = Period(periods_merged[-1].start, max(periods_merged[-1].end, period.end))
        else:
            periods_merged.append(period)
    return periods_merged


def without(periods: Iterable[Period], closed: Iterable[Period]) -> list[Period]:
    """What is left of periods when the taken ones are cut out of them."""
    open_periods = merged(periods)
    for cut in closed:
        open_periods = [piece for period in open_periods for piece in _cut(period, cut)]
    return open_periods


def _cut(period: Period, cut: Period) -> list[Period]:
    if cut.end <= period.start or cut.start >= period.end:
        return [period]
    pieces = [Period(period.start, cut.start), Period(cut.end, period.end)]
    return [piece for piece in pieces if piece.start < piece.end]


def earliest(
    at: datetime, length: timedelta, allowed: Sequence[Period] | None, blocked: Sequence[Period]
) -> datetime | None:
    """The first moment from `at` on at which `length` lies inside what is allowed and touches nothing blocked.

    `allowed` None means always. None when it fits nowhere in what is known.
    """
    inside = None if allowed is None else merged(allowed)
    starts = {at, *(period.end for period in blocked), *(period.start for period in inside or ())}
    for start in sorted(start for start in starts if start >= at):
        slot = Period(start, start + length)
        if _lies_in(slot, inside) and not any(_touches(slot, period) for period in blocked):
            return start
    return None


def _lies_in(period: Period, allowed: Sequence[Period] | None) -> bool:
    return allowed is None or any(window.start <= period.start and period.end <= window.end for window in allowed)


def _touches(period: Period, other: Period) -> bool:
    return period.start < other.end and other.start < period.end
