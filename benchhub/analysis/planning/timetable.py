"""Compute periods of time: weekly windows in local time as moments, and the first gap for a given length.

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
    """A period from `start` on until just before `end`."""

    start: datetime
    end: datetime


def moment(local: datetime, zone: ZoneInfo, *, last: bool = False) -> datetime:
    """Return the moment, in UTC, at which a clock on the wall of `zone` shows the naive time `local`.

    A time that the clock shows twice is the first of the two, or the `last`. One that it skips is the moment at
    which it skips.
    """
    early, late = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if early > late:
        return _change(late, early, zone)
    return late if last else early


def _change(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """Return the moment in (before, after] at which the zone's offset changes, to the second."""
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
    """Return the periods of a weekly window that end after `first` and start before `last`, in order.

    `weekdays` (0 is Monday) are those on which it starts. An end that is not after the start is that of the next
    day. The window runs from the first time that the clock shows its start to the last that it shows its end; one
    that the clock skips altogether does not occur.
    """
    time_zone = ZoneInfo(zone)
    first_day, last_day = (edge.astimezone(time_zone).date() for edge in (first - 2 * DAY, last + DAY))
    days = (first_day + number * DAY for number in range((last_day - first_day).days + 1))
    periods = (_occurrence(day, starts, ends, time_zone) for day in days if day.weekday() in weekdays)
    return [period for period in periods if period.start < period.end and period.end > first and period.start < last]


def _occurrence(day: date, starts: time, ends: time, zone: ZoneInfo) -> Period:
    last_day = day if ends > starts else day + DAY
    return Period(
        moment(datetime.combine(day, starts), zone), moment(datetime.combine(last_day, ends), zone, last=True)
    )


def merged(periods: Iterable[Period], gap: timedelta = timedelta()) -> list[Period]:
    """Return the same time as periods that neither overlap nor touch, in order; with the gaps of up to this length."""
    periods_merged: list[Period] = []
    for period in sorted(periods):
        if periods_merged and period.start <= periods_merged[-1].end + gap:
            periods_merged[-1] = Period(periods_merged[-1].start, max(periods_merged[-1].end, period.end))
        else:
            periods_merged.append(period)
    return periods_merged


def without(periods: Iterable[Period], closed: Iterable[Period]) -> list[Period]:
    """Cut the closed periods out of the others, and return the rest in order."""
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
    first_moment: datetime, length: timedelta, allowed: Sequence[Period] | None, blocked: Sequence[Period]
) -> datetime | None:
    """Return the first moment from `first_moment` on at which `length` fits into the allowed and no blocked period.

    `allowed` None means always. Returns None if it fits nowhere in these periods.
    """
    windows = None if allowed is None else merged(allowed)
    starts = {first_moment, *(period.end for period in blocked), *(period.start for period in windows or ())}
    for start in sorted(start for start in starts if start >= first_moment):
        end = start + length
        is_inside = windows is None or any(window.start <= start and end <= window.end for window in windows)
        if is_inside and not any(start < period.end and period.start < end for period in blocked):
            return start
    return None
