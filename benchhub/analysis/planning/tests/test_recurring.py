"""When a plan recurs; dates by the calendar, changes of the clock by the tables of Berlin in 2026."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchhub.analysis.planning.recurring import Rule, next_time

EVERY_DAY, WEEKEND = range(7), (5, 6)
BERLIN = "Europe/Berlin"


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("rule", "after", "expected"),
    [
        (Rule(EVERY_DAY, time(22), "UTC"), "2026-11-25 21:59", "2026-11-25 22:00"),
        (Rule(EVERY_DAY, time(22), "UTC"), "2026-11-25 22:00", "2026-11-26 22:00"),
        (Rule(EVERY_DAY, time(22), BERLIN), "2026-11-25 20:59", "2026-11-25 21:00"),
        (Rule(EVERY_DAY, time(22), BERLIN), "2026-07-25 19:59", "2026-07-25 20:00"),
        (Rule(WEEKEND, time(3), "UTC"), "2026-11-25 12:00", "2026-11-28 03:00"),
        (Rule((2,), time(3), "UTC"), "2026-11-25 03:00", "2026-12-02 03:00"),
        # 2026-10-25: the clock shows 02:30 twice, at 00:30 and 01:30 UTC. It runs once.
        (Rule(EVERY_DAY, time(2, 30), BERLIN), "2026-10-25 00:00", "2026-10-25 00:30"),
        (Rule(EVERY_DAY, time(2, 30), BERLIN), "2026-10-25 00:30", "2026-10-26 01:30"),
        # 2026-03-29: the clock skips 02:30; it goes from 02:00 to 03:00 at 01:00 UTC.
        (Rule(EVERY_DAY, time(2, 30), BERLIN), "2026-03-29 00:00", "2026-03-29 01:00"),
        (Rule(EVERY_DAY, time(22), "UTC", date(2026, 11, 26)), "2026-11-25 23:00", "2026-11-26 22:00"),
    ],
)
def test_it_recurs_by_the_clock_of_its_zone(rule, after, expected):
    assert next_time(rule, utc(after)) == utc(expected)


def test_it_ends_after_its_last_day():
    assert next_time(Rule(EVERY_DAY, time(22), "UTC", date(2026, 11, 25)), utc("2026-11-25 22:00")) is None
    assert next_time(Rule((0,), time(22), "UTC", date(2026, 11, 25)), utc("2026-11-24 22:00")) is None


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (Rule(EVERY_DAY, time(22), BERLIN), "Every day at 22:00, Europe/Berlin"),
        (Rule((4, 0), time(3, 5), "UTC"), "Every Monday and Friday at 03:05, UTC"),
        (Rule((6,), time(3), "UTC", date(2027, 1, 31)), "Every Sunday at 03:00, UTC, until 2027-01-31"),
    ],
)
def test_its_rule_is_a_sentence(rule, sentence):
    assert rule.sentence == sentence


@given(
    weekdays=st.sets(st.integers(0, 6), min_size=1),
    at=st.times(),
    zone=st.sampled_from(["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]),
    after=st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),
)
def test_from_one_time_to_the_next_lies_at_most_a_week_and_the_clock_is_on_a_chosen_day(weekdays, at, zone, after):
    rule = Rule(weekdays, at, zone)
    instant = next_time(rule, after)
    assert after < instant <= after + timedelta(days=8)
    following = next_time(rule, instant)
    assert instant < following <= instant + timedelta(days=8)
