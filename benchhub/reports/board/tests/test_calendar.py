import csv
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from benchhub.bench import testing
from benchhub.bench.models import Recurrence, Run, Window
from benchhub.bench.queue import timetable
from benchhub.reports.board import calendar
from benchhub.reports.board.calendar import Week

pytestmark = pytest.mark.django_db
BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)


def kinds(week, host):
    return [(block.kind, block.title) for block in week.blocks.get(host.pk, ())]


def test_a_week_begins_and_ends_at_midnight_of_the_readers_clock():
    week = Week.ahead(NOON, BERLIN)
    assert week.start == datetime(2026, 11, 24, 23, tzinfo=UTC)
    assert week.end == datetime(2026, 12, 1, 23, tzinfo=UTC)
    assert [day.is_today for day in week.days] == [True] + [False] * 6
    assert Week(date(2026, 12, 2), BERLIN, NOON).now_percent == ""


def test_a_week_in_which_the_clocks_change_is_an_hour_longer_or_shorter():
    week = Week(date(2026, 10, 19), BERLIN, NOON)
    assert week.end - week.start == timedelta(days=7, hours=1)
    lefts = [float(day.left) for day in week.days]
    assert lefts == sorted(lefts) and lefts[0] == 0


def test_blocked_times_are_shown_where_they_fall_into_the_week(host):
    start = datetime(2026, 11, 26, tzinfo=UTC)
    timetable.reserve_once(host, start, start + timedelta(days=1), zone="UTC", reason="Backups")
    timetable.reserve_once(host, start + timedelta(days=30), start + timedelta(days=31), zone="UTC", reason="Later")
    [lane] = Week.ahead(NOON, ZoneInfo("UTC")).lanes([host])
    [placed] = lane.blocks
    assert (placed.block.kind, placed.block.reason) == ("blocked", "Backups")
    assert (float(placed.left), float(placed.width)) == pytest.approx((100 / 7, 100 / 7), abs=0.01)


def test_a_reservation_is_shown_on_the_hosts_of_its_experiment_until_it_has_ended(host, experiment, systems):
    other = testing.make_host("other", "192.0.2.9")
    run = testing.make_run(experiment, systems[0], 16, 1)
    start = datetime(2026, 11, 26, tzinfo=UTC)
    timetable.reserve_once(experiment, start, start + timedelta(hours=8), zone="UTC", reason="")
    week = Week.ahead(NOON, BERLIN)
    assert ("allowed", experiment.name) in kinds(week, host)
    assert kinds(week, other) == []
    Run.objects.filter(pk=run.pk).update(state="cancelled")
    assert kinds(Week.ahead(NOON, BERLIN), host) == []


def test_a_recurring_plan_is_shown_at_each_of_its_times(host, experiment):
    recurrence = Recurrence.objects.create(
        plan=experiment, weekdays=[4, 6], starts_at=time(22), zone="Europe/Berlin",
        next_at=datetime(2026, 11, 27, 21, tzinfo=UTC),
    )  # fmt: skip
    blocks = Week.ahead(NOON, BERLIN).blocks[host.pk]
    assert [block.start.astimezone(BERLIN).strftime("%a %H:%M") for block in blocks] == ["Fri 22:00", "Sun 22:00"]
    assert blocks[0].end - blocks[0].start == timedelta(minutes=8)  # eight runs of a minute
    following = Week(date(2026, 12, 2), BERLIN, NOON).blocks[host.pk]
    assert [block.start.astimezone(BERLIN).day for block in following] == [4, 6]
    recurrence.pause("Retired.")
    assert kinds(Week.ahead(NOON, BERLIN), host) == []


def test_the_next_turn_of_an_exclusive_plan_is_reserved_and_not_while_the_rule_is_paused(host, experiment):
    now = timezone.now()
    week = Week.ahead(now, ZoneInfo("UTC"))
    type(experiment).objects.update(is_exclusive=True)
    timetable.reserve_once(experiment, now, now + timedelta(hours=1), zone="UTC", reason="")
    rule = Recurrence.objects.create(plan=experiment, weekdays=[0], starts_at=now.time(), zone="UTC", next_at=now)
    reserved = ("exclusive", experiment.name)
    assert reserved in kinds(week, host)
    Recurrence.objects.filter(pk=rule.pk).update(paused_at=now)
    assert reserved not in kinds(Week.ahead(now, ZoneInfo("UTC")), host)


def test_what_the_queue_would_start_is_one_block_for_each_experiment(host, systems):
    testing.make_worker()
    now = timezone.now()
    names = ("First", "Second")
    for name in names:
        experiment = testing.make_experiment(systems, name=name)
        for repeat in (1, 2, 3):
            testing.make_run(experiment, systems[0], 8, repeat)
    week = Week.ahead(now, ZoneInfo("UTC"))
    assert kinds(week, host) == [("planned", name) for name in names]
    first, second = week.blocks[host.pk]
    assert first.end <= second.start


def test_the_forecast_is_kept_until_a_run_moves(systems, django_assert_num_queries):
    testing.make_worker()
    now = timezone.now().replace(second=1)
    run = testing.make_run(testing.make_experiment(systems), systems[0], 8, 1)
    assert calendar._forecast(now)
    with django_assert_num_queries(2):
        assert calendar._forecast(now + timedelta(seconds=1))
    Run.objects.filter(pk=run.pk).update(state="cancelled")
    assert list(calendar._forecast(now)) == []


def test_the_page_goes_from_week_to_week_and_shows_idle_hosts(reader, host):
    response = reader.get(reverse("calendar"), {"week": "2026-W48"})
    for text in ("23 November 2026 to 29 November 2026", "?week=2026-W47", "?week=2026-W49", host.name):
        assertContains(response, text)
    for nonsense in ("2026-W60", "x", "9999-W53", "0000-W01"):
        assert reader.get(reverse("calendar"), {"week": nonsense}).status_code == 200


def test_the_days_are_those_of_the_zone_in_the_cookie(reader, host):
    reader.cookies["zone"] = "Asia/Tokyo"
    assertContains(reader.get(reverse("calendar")), "Days by the clock of Asia/Tokyo.")
    for nonsense in ("../../etc/passwd", "Nowhere/Town", ""):
        reader.cookies["zone"] = nonsense
        assertContains(reader.get(reverse("calendar")), "Days by the clock of UTC.")


def test_the_week_is_a_table_and_csv_too(reader, host):
    Window.objects.create(
        host=host, weekdays=list(range(7)), starts_at="08:00", ends_at="09:00", zone="UTC", reason="=1+1"
    )
    timetable.expand()
    assertContains(reader.get(reverse("calendar")), "The week as a table")
    rows = list(csv.DictReader(reader.get(reverse("calendar-csv")).content.decode().splitlines()))
    assert {(row["host"], row["what"], row["reason"]) for row in rows} == {("box", "blocked", "'=1+1")}
    assertNotContains(reader.get(reverse("calendar-csv"), {"week": "2020-W01"}), "blocked")


def test_weeks_beyond_all_clocks_are_this_week(reader, host):
    for week in ("0001-W01", "9999-W52"):
        assertContains(reader.get(reverse("calendar"), {"week": week}), "is-today")
