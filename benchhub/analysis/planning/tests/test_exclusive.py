"""Exclusive periods: whom they keep out, what overlaps, and lengths by the clock on the wall."""

from datetime import UTC, datetime, time, timedelta

import pytest

from benchhub.analysis.planning.exclusive import Exclusive, first_overlap, longest, span_text
from benchhub.analysis.planning.timetable import Period, occurrences

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2026, 11, 28, tzinfo=UTC)


def exclusive(name, start, end, resources="host:1", family=""):
    """Hours of 28 November 2026, for short."""
    period = Period(MIDNIGHT + start * HOUR, MIDNIGHT + end * HOUR)
    return Exclusive(name, frozenset({family or name}), frozenset(resources.split()), period, "UTC")


def test_it_keeps_out_who_needs_any_of_its_hosts_and_nobody_of_its_family():
    night = exclusive("night", 0, 6, "host:1 host:2", "design 7")
    assert night.keeps_out({"experiment 9"}, {"host:2", "instance:4"})
    assert not night.keeps_out({"experiment 9"}, {"host:3"})
    assert not night.keeps_out({"experiment 9", "design 7"}, {"host:1"})


def test_periods_that_touch_do_not_overlap_and_a_minute_more_does():
    night, minute = exclusive("night", 0, 6), HOUR / 60
    assert not night.reaches_into(MIDNIGHT - HOUR, MIDNIGHT)
    assert not night.reaches_into(MIDNIGHT + 6 * HOUR, MIDNIGHT + 7 * HOUR)
    assert night.reaches_into(MIDNIGHT - HOUR, MIDNIGHT + minute)
    assert night.reaches_into(MIDNIGHT + 6 * HOUR - minute, MIDNIGHT + 7 * HOUR)


def test_the_earliest_overlap_is_told_and_those_that_touch_are_none():
    others = [exclusive("late", 5, 8), exclusive("early", 2, 3)]
    overlap = first_overlap([exclusive("new", 7, 9).period, exclusive("new", 1, 6).period], others)
    assert overlap is not None
    assert overlap.name == "early"
    assert first_overlap([exclusive("new", 8, 9).period, exclusive("new", 3, 5).period], others) is None
    assert first_overlap([], others) is None


@pytest.mark.parametrize("day", [datetime(2026, 10, 23, 12, tzinfo=UTC), datetime(2027, 3, 26, 12, tzinfo=UTC)])
def test_a_whole_sunday_is_24_hours_by_the_clock_although_that_day_has_25_or_23(day):
    sunday = occurrences([6], time(0), time(0), "Europe/Berlin", day, day + timedelta(days=4))
    assert [period.end - period.start for period in sunday] in ([25 * HOUR], [23 * HOUR])
    assert longest(sunday, "Europe/Berlin") == 24 * HOUR


def test_periods_that_touch_are_one_long_one():
    days = [Period(MIDNIGHT + number * 24 * HOUR, MIDNIGHT + (number + 1) * 24 * HOUR) for number in range(3)]
    assert longest(days, "UTC") == 72 * HOUR
    assert longest([], "UTC") == timedelta()


def test_a_gap_of_less_than_an_hour_is_no_gap_and_one_of_an_hour_is():
    day = timedelta(days=1)
    short, long = (
        [Period(MIDNIGHT + number * day, MIDNIGHT + (number + 1) * day - minutes * HOUR / 60) for number in range(3)]
        for minutes in (1, 60)
    )
    assert longest(short, "UTC") == 3 * day - HOUR / 60
    assert longest(long, "UTC") == 23 * HOUR


def test_a_period_is_written_by_the_clock_that_it_was_given_by():
    night = Period(datetime(2026, 11, 27, 21, tzinfo=UTC), datetime(2026, 11, 28, 5, tzinfo=UTC))
    assert span_text(night, "Europe/Berlin") == "2026-11-27 22:00 to 2026-11-28 06:00 (Europe/Berlin)"
