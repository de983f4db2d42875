"""Exclusive periods: whom they keep out, what overlaps, and lengths by the clock on the wall."""

from datetime import UTC, datetime, time, timedelta

import pytest

from benchhub.analysis.planning.exclusive import Exclusive, first_overlap, most_held, span_of, span_text
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
    assert most_held(sunday, "Europe/Berlin", 27 * HOUR) == 24 * HOUR


def days(length, gap, number=5):
    starts = [MIDNIGHT + turn * (length + gap) for turn in range(number)]
    return [Period(start, start + length) for start in starts]


@pytest.mark.parametrize(
    ("length_h", "gap_h", "span_h", "held_h"),
    [
        (24, 0, 27, 27),  # those that touch
        (23, 61 / 60, 27, 27 - 61 / 60),  # gaps of an hour do not help
        (21, 3, 27, 24),
        (7, 61 / 60, 24, 21),
        (8, 16, 24, 8),
        (1, 5, 24, 4),
        (1, 30, 24, 1),
        (30, 40, 27, 27),
    ],
)
def test_a_host_is_held_for_the_sum_of_its_periods_within_any_such_span(length_h, gap_h, span_h, held_h):
    assert most_held(days(length_h * HOUR, gap_h * HOUR), "UTC", span_h * HOUR) == held_h * HOUR


def test_periods_of_two_that_overlap_count_once_and_none_hold_nothing():
    assert most_held(2 * days(8 * HOUR, 16 * HOUR), "UTC", 24 * HOUR) == 8 * HOUR
    assert most_held([], "UTC", 24 * HOUR) == timedelta()


@pytest.mark.parametrize(("limit_h", "span_h"), [(1, 24), (21, 24), (22, 25), (24, 27), (72, 75)])
def test_the_span_is_a_day_or_leaves_others_three_hours(limit_h, span_h):
    assert span_of(limit_h * HOUR) == span_h * HOUR


def test_a_period_is_written_by_the_clock_that_it_was_given_by():
    night = Period(datetime(2026, 11, 27, 21, tzinfo=UTC), datetime(2026, 11, 28, 5, tzinfo=UTC))
    assert span_text(night, "Europe/Berlin") == "2026-11-27 22:00 to 2026-11-28 06:00 (Europe/Berlin)"
