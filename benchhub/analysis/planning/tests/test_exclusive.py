"""Exclusive periods: whom they keep out, what overlaps, and lengths by the clock on the wall."""

from datetime import UTC, datetime, time, timedelta

import pytest

from benchhub.analysis.planning.exclusive import Excess, Exclusive, excess, first_overlap, span_of, span_text
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


def rows(name, periods, zone="UTC", family=""):
    return [Exclusive(name, frozenset({family or name}), frozenset({"host:1"}), period, zone) for period in periods]


def weekly(name, weekdays, starts_h, ends_h, zone="UTC", family=""):
    """Write out a weekly window from October 2026 to April 2027, when clocks change twice."""
    first = datetime(2026, 10, 5, tzinfo=UTC)
    times = occurrences(weekdays, time(starts_h), time(ends_h), zone, first, first + timedelta(days=180))
    return rows(name, times, zone, family)


@pytest.mark.parametrize("day", [datetime(2026, 10, 23, 12, tzinfo=UTC), datetime(2027, 3, 26, 12, tzinfo=UTC)])
def test_a_whole_sunday_is_24_hours_by_the_clock_although_that_day_has_25_or_23(day):
    sunday = occurrences([6], time(0), time(0), "Europe/Berlin", day, day + timedelta(days=4))
    assert [period.end - period.start for period in sunday] in ([25 * HOUR], [23 * HOUR])
    assert excess(rows("own", sunday, "Europe/Berlin"), (), 24 * HOUR) is None
    assert excess(rows("own", sunday, "Europe/Berlin"), (), 23 * HOUR) == Excess(24 * HOUR, ())


def days(length, gap, number=5):
    starts = [MIDNIGHT + turn * (length + gap) for turn in range(number)]
    return [Period(start, start + length) for start in starts]


@pytest.mark.parametrize(
    ("length_h", "gap_h", "limit_h", "held_h"),
    [
        (24, 0, 24, 27),  # those that touch
        (23, 61 / 60, 24, 27 - 61 / 60),  # gaps of an hour do not help
        (21, 3, 24, None),
        (7, 61 / 60, 8, 21),
        (8, 16, 8, None),
        (1, 5, 3, 4),
        (1, 30, 1, None),
        (30, 40, 24, 27),
    ],
)
def test_a_host_is_held_for_the_sum_of_its_periods_within_any_such_span(length_h, gap_h, limit_h, held_h):
    own = rows("own", days(length_h * HOUR, gap_h * HOUR))
    assert excess(own, (), limit_h * HOUR) == (held_h and Excess(held_h * HOUR, ()))


def test_periods_of_two_that_overlap_count_once():
    night = days(8 * HOUR, 16 * HOUR)
    assert excess(rows("own", night), rows("night", night), 8 * HOUR) is None


def test_who_adds_nothing_to_what_others_hold_beyond_the_limit_is_not_refused_for_it():
    """Two plans of 8 hours a day went on when the limit became 8: the turn of one has that one's own hours."""
    plan, other = weekly("plan", range(7), 22, 6, family="plan"), weekly("other", range(7), 10, 18)
    turn = weekly("turn", range(7), 22, 6, family="plan")
    assert excess(turn, [*plan, *other], 8 * HOUR) is None
    assert excess(turn, other, 8 * HOUR) == Excess(16 * HOUR, ("other",))  # without the plan it takes them anew
    longer = weekly("turn", range(7), 21, 5, family="plan")
    assert excess(longer, [*plan, *other], 8 * HOUR) == Excess(17 * HOUR, ("other",))


def test_what_others_hold_on_other_days_refuses_nobody_and_within_a_day_it_does():
    """Two have 8 hours on Tuesday (0 to 8 and 9 to 17); the limit is 8."""
    others = [*weekly("early", [1], 0, 8), *weekly("late", [1], 9, 17)]
    assert excess(weekly("own", [3], 12, 20), others, 8 * HOUR) is None
    assert excess(weekly("own", [2], 17, 18), others, 8 * HOUR) is None  # a day after the end of the last
    assert excess(weekly("own", [2], 16, 17), others, 8 * HOUR) is None  # an hour of each at most
    assert excess(weekly("own", [2], 8, 10), others, 8 * HOUR) == Excess(9 * HOUR, ("late",))  # from Tuesday 9:00 on
    assert excess(weekly("own", [1], 18, 19), others, 8 * HOUR) == Excess(17 * HOUR, ("early", "late"))


def test_each_is_measured_by_the_clock_of_its_own_zone():
    """The Sunday in October has 25 hours by UTC, and that in March 23."""
    sunday, noon = weekly("sunday", [6], 0, 0, "Europe/Berlin"), weekly("noon", [2], 12, 13)
    assert excess(noon, sunday, 24 * HOUR) is None
    assert excess(sunday, noon, 24 * HOUR) is None
    nights = weekly("night", range(7), 22, 6, "Europe/Berlin")
    assert excess(nights, (), 8 * HOUR) is None
    assert excess(weekly("noon", range(7), 12, 13), nights, 9 * HOUR) is None
    assert excess(weekly("noon", [2], 12, 13), nights, 8 * HOUR) == Excess(9 * HOUR, ("night",))


@pytest.mark.parametrize(("limit_h", "span_h"), [(1, 24), (21, 24), (22, 25), (24, 27), (72, 75)])
def test_the_span_is_a_day_or_leaves_others_three_hours(limit_h, span_h):
    assert span_of(limit_h * HOUR) == span_h * HOUR


def test_a_period_is_written_by_the_clock_that_it_was_given_by():
    night = Period(datetime(2026, 11, 27, 21, tzinfo=UTC), datetime(2026, 11, 28, 5, tzinfo=UTC))
    assert span_text(night, "Europe/Berlin") == "2026-11-27 22:00 to 2026-11-28 06:00 (Europe/Berlin)"
