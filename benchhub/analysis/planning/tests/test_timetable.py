from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.planning.timetable import Period, earliest, merged, moment, occurrences, without

EVERY_DAY = range(7)
BERLIN, LONDON = "Europe/Berlin", "Europe/London"


def utc(day, hour=0, minute=0, month=1):
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


def period(start, end):
    """Hours of 1 January 2026, for short."""
    return Period(utc(1) + timedelta(hours=start), utc(1) + timedelta(hours=end))


def windows_on(day, zone, starts, ends):
    """Return the periods of a daily window that start on one local day."""
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=ZoneInfo(zone))
    windows = occurrences(EVERY_DAY, starts, ends, zone, noon - timedelta(days=2), noon + timedelta(days=2))
    local_zone = ZoneInfo(zone)
    return [window for window in windows if window.start.astimezone(local_zone).date() == day]


def test_a_night_ends_on_the_next_day():
    # Friday 2 January 2026, 20:00 to 06:00 in Berlin (UTC+1): 19:00 to 05:00 UTC.
    nights = occurrences({4}, time(20), time(6), BERLIN, utc(1), utc(8))
    assert nights == [Period(utc(2, 19), utc(3, 5))]


def test_the_same_time_as_start_and_end_is_a_whole_day():
    assert occurrences({5}, time(0), time(0), "UTC", utc(1), utc(8)) == [Period(utc(3), utc(4))]


def test_a_window_that_has_begun_counts_and_one_that_has_ended_does_not():
    assert occurrences(EVERY_DAY, time(20), time(6), "UTC", utc(2, 6), utc(3)) == [Period(utc(2, 20), utc(3, 6))]
    assert occurrences(EVERY_DAY, time(20), time(6), "UTC", utc(2, 5, 59), utc(2, 7)) == [Period(utc(1, 20), utc(2, 6))]


def test_half_past_one_to_half_past_two_on_the_day_that_summer_time_begins():
    # Berlin, 29 March 2026: 02:00 (01:00 UTC) becomes 03:00. 01:30 is 00:30 UTC; 02:30 is skipped, so it ends at 01:00.
    [window] = windows_on(datetime(2026, 3, 29).date(), BERLIN, time(1, 30), time(2, 30))
    assert window == Period(utc(29, 0, 30, month=3), utc(29, 1, 0, month=3))
    # London on the same day: 01:00 becomes 02:00. 01:30 is skipped, so it starts at 01:00 UTC; 02:30 BST is 01:30 UTC.
    [window] = windows_on(datetime(2026, 3, 29).date(), LONDON, time(1, 30), time(2, 30))
    assert window == Period(utc(29, 1, 0, month=3), utc(29, 1, 30, month=3))


def test_half_past_one_to_half_past_two_on_the_day_that_summer_time_ends():
    # Berlin, 25 October 2026: 03:00 CEST (01:00 UTC) becomes 02:00 CET. 01:30 is 23:30 UTC of the 24th; 02:30 comes
    # twice, at 00:30 and 01:30 UTC, and the window ends with the last.
    [window] = windows_on(datetime(2026, 10, 25).date(), BERLIN, time(1, 30), time(2, 30))
    assert window == Period(utc(24, 23, 30, month=10), utc(25, 1, 30, month=10))
    # London: 02:00 BST (01:00 UTC) becomes 01:00 GMT. 01:30 comes at 00:30 and 01:30 UTC; 02:30 GMT is 02:30 UTC.
    [window] = windows_on(datetime(2026, 10, 25).date(), LONDON, time(1, 30), time(2, 30))
    assert window == Period(utc(25, 0, 30, month=10), utc(25, 2, 30, month=10))


def test_a_window_that_lies_in_the_skipped_hour_does_not_occur_on_that_day():
    assert windows_on(datetime(2026, 3, 29).date(), BERLIN, time(2, 10), time(2, 50)) == []
    assert len(windows_on(datetime(2026, 3, 28).date(), BERLIN, time(2, 10), time(2, 50))) == 1


def test_a_night_over_a_change_is_an_hour_shorter_or_longer():
    hours_by_month = {3: 9, 10: 11}  # 20:00 to 06:00 is ten hours otherwise
    for month, hours in hours_by_month.items():
        day = datetime(2026, month, 28 if month == 3 else 24).date()
        [night] = windows_on(day, BERLIN, time(20), time(6))
        assert night.end - night.start == timedelta(hours=hours)


def test_every_night_of_a_year_starts_and_ends_when_the_clock_on_the_wall_says_so():
    first = utc(1)
    nights = occurrences(EVERY_DAY, time(22), time(6), BERLIN, first, first + timedelta(days=365))
    zone = ZoneInfo(BERLIN)
    assert len(nights) == 366
    assert {(night.start.astimezone(zone).hour, night.end.astimezone(zone).hour) for night in nights} == {(22, 6)}


def test_a_zone_that_moved_by_half_an_hour_is_known():
    # Lord Howe, 4 October 2026: 02:00 (UTC+10:30) becomes 02:30 (UTC+11). 02:15 is skipped: 15:30 UTC of the 3rd.
    assert moment(datetime(2026, 10, 4, 2, 15), ZoneInfo("Australia/Lord_Howe")) == utc(3, 15, 30, month=10)


def test_periods_that_touch_become_one():
    assert merged([period(4, 6), period(0, 2), period(1, 3), period(3, 4)]) == [period(0, 6)]
    assert merged([period(0, 1), period(2, 3)]) == [period(0, 1), period(2, 3)]


@pytest.mark.parametrize(
    ("closed", "open_hours"),
    [
        ([], [(0, 10)]),
        ([(2, 4)], [(0, 2), (4, 10)]),
        ([(0, 3), (9, 12)], [(3, 9)]),
        ([(0, 10)], []),
        ([(10, 12)], [(0, 10)]),
    ],
)
def test_what_is_taken_is_cut_out(closed, open_hours):
    assert without([period(0, 10)], [period(*hours) for hours in closed]) == [period(*hours) for hours in open_hours]


def test_something_starts_at_once_where_nothing_stands_against_it():
    assert earliest(utc(1), timedelta(hours=1), None, []) == utc(1)


def test_something_that_would_reach_into_a_block_waits_for_its_end():
    assert earliest(utc(1), timedelta(hours=1), None, [period(0.5, 3)]) == utc(1, 3)
    assert earliest(utc(1), timedelta(hours=1), None, [period(1, 3)]) == utc(1)


def test_something_starts_only_where_its_end_lies_inside_the_window():
    windows = [period(0, 2), period(20, 22)]
    assert earliest(utc(1, 1), timedelta(hours=1), windows, []) == utc(1, 1)
    assert earliest(utc(1, 1, 1), timedelta(hours=1), windows, []) == utc(1, 20)
    assert earliest(utc(1, 1), timedelta(hours=1), windows, [period(1, 21.5)]) is None
    assert earliest(utc(1), timedelta(hours=3), windows, []) is None


def test_windows_that_touch_count_as_one():
    assert earliest(utc(1), timedelta(hours=3), [period(0, 2), period(2, 4)], []) == utc(1)


HOURS = st.integers(0, 48)
PERIODS = st.lists(st.tuples(HOURS, HOURS).filter(lambda p: p[0] < p[1]).map(lambda p: period(*p)), max_size=6)


@given(at=HOURS, length=st.integers(1, 12), allowed=st.none() | PERIODS, blocked=PERIODS)
def test_the_earliest_start_is_the_first_hour_that_fits(at, length, allowed, blocked):
    def fits(hour):
        hours = [
            Period(utc(1) + timedelta(hours=h), utc(1) + timedelta(hours=h + 1)) for h in range(hour, hour + length)
        ]
        inside = all(allowed is None or any(p.start <= h.start and h.end <= p.end for p in allowed) for h in hours)
        return inside and not any(p.start < h.end and h.start < p.end for p in blocked for h in hours)

    first = next((hour for hour in range(at, 50) if fits(hour)), None)
    expected = None if first is None else utc(1) + timedelta(hours=first)
    assert earliest(utc(1) + timedelta(hours=at), timedelta(hours=length), allowed, blocked) == expected
