"""Compute when a plan recurs: on chosen days at a time of the clock on the wall, until a last day."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from benchhub.analysis.words import listing

from .timetable import moment

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WEEK_AND_A_DAY = 8


@dataclass(frozen=True, slots=True)
class Rule:
    """`weekdays` (0 is Monday) and `at` are of the clock in `zone`; `until` is the last day there, None for no end."""

    weekdays: Collection[int]
    at: time
    zone: str
    until: date | None = None

    @property
    def sentence(self) -> str:
        """Say the rule: 'Every day at 22:00, Europe/Berlin, until 2027-01-31'."""
        days = "Every day" if len(set(self.weekdays)) == len(DAYS) else f"Every {self._names}"
        end = f", until {self.until:%Y-%m-%d}" if self.until else ""
        return f"{days} at {self.at:%H:%M}, {self.zone}{end}"

    @property
    def _names(self) -> str:
        return listing(DAYS[day] for day in sorted(set(self.weekdays)))


def next_time(rule: Rule, after: datetime) -> datetime | None:
    """Return the first moment, in UTC, after the aware time `after`; None where the rule has ended.

    A time that the clock shows twice counts once, as the first of the two; one that it skips is the moment at which
    it skips.
    """
    zone = ZoneInfo(rule.zone)
    first_day = after.astimezone(zone).date()
    for number in range(WEEK_AND_A_DAY):
        day = first_day + timedelta(days=number)
        if rule.until and day > rule.until:
            return None
        instant = moment(datetime.combine(day, rule.at), zone)
        if day.weekday() in rule.weekdays and instant > after:
            return instant
    return None
