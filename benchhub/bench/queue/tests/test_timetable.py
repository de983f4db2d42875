"""Windows written out as rows, and what the database refuses."""

import threading
from datetime import UTC, datetime, time, timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.utils import timezone

from benchhub.bench import testing
from benchhub.bench.models import Reservation, Window
from benchhub.bench.plan import plan
from benchhub.bench.queue import timetable
from benchhub.bench.queue.testing import new_experiment, new_host, new_system
from benchhub.catalog.models import Workload

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def host():
    return new_host("alpha")


def nights(**owner):
    return Window.objects.create(
        weekdays=list(range(7)), starts_at=time(20), ends_at=time(6), zone="Europe/Berlin", **owner
    )


def rows(window):
    return list(window.reservations.order_by("period").values_list("period", flat=True))


def test_a_window_is_written_out_sixty_days_ahead_and_only_once(host):
    window = nights(host=host)
    assert timetable.expand() in (60, 61, 62)
    assert timetable.expand() == 0
    last = rows(window)[-1]
    assert timezone.now() + 59 * DAY < last.upper
    assert all(timedelta(hours=9) <= row.upper - row.lower <= timedelta(hours=11) for row in rows(window))


def test_after_a_day_what_is_new_is_added(host):
    window = nights(host=host)
    timetable.expand()
    periods = rows(window)
    Reservation.objects.filter(period=periods[-1]).delete()
    Window.objects.update(expanded_until=timezone.now() + 58 * DAY)
    assert timetable.expand() == 1
    assert rows(window) == periods


def test_a_time_zone_that_an_update_took_away_holds_up_no_other_window(host):
    broken, sound = nights(host=new_host("beta")), nights(host=host)
    Window.objects.filter(pk=broken.pk).update(zone="Nowhere/Atlantis")
    assert timetable.expand() in (60, 61, 62)
    assert (len(rows(broken)), len(rows(sound)) > 50) == (0, True)


def test_many_workers_write_each_period_once(transactional_db):
    window = nights(host=new_host("alpha"))
    barrier = threading.Barrier(6)

    def work():
        barrier.wait()
        timetable.expand()
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows(window)) in (60, 61, 62)
    assert len({row.lower for row in rows(window)}) == len(rows(window))


def test_the_database_refuses_periods_of_one_host_that_overlap(host):
    start = datetime(2030, 1, 1, tzinfo=UTC)
    timetable.reserve_once(host, start, start + DAY, zone="UTC", reason="")
    for begin, end in ((start + DAY / 2, start + 2 * DAY), (start, start + DAY), (start - DAY, start + 5 * DAY)):
        with pytest.raises(IntegrityError, match="reservation_of_host_once"):
            timetable.reserve_once(host, begin, end, zone="UTC", reason="")
    timetable.reserve_once(host, start + DAY, start + 2 * DAY, zone="UTC", reason="")
    timetable.reserve_once(new_host("beta"), start, start + DAY, zone="UTC", reason="")
    assert Reservation.objects.count() == 3


def test_two_experiments_may_be_confined_to_the_same_night_and_one_not_twice(host):
    new_system(host)
    first, second = new_experiment(), new_experiment()
    start = datetime(2030, 1, 1, tzinfo=UTC)
    for experiment in (first, second):
        timetable.reserve_once(experiment, start, start + DAY, zone="UTC", reason="")
    with pytest.raises(IntegrityError, match="reservation_of_experiment_once"):
        timetable.reserve_once(first, start, start + DAY, zone="UTC", reason="")


@pytest.mark.parametrize("period", [(None, datetime(2030, 1, 1, tzinfo=UTC)), (datetime(2030, 1, 1, tzinfo=UTC), None)])
def test_a_period_without_an_end_is_refused(period, host):
    with pytest.raises(IntegrityError, match="reservation_has_two_ends"), transaction.atomic():
        Reservation.objects.create(host=host, period=period)


def test_a_row_belongs_to_a_host_or_to_an_experiment_and_never_to_both_or_none(host):
    new_system(host)
    period = (datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 1, 2, tzinfo=UTC))
    for owner in ({}, {"host": host, "experiment": new_experiment()}):
        with pytest.raises(IntegrityError, match="reservation_of_host_or_experiment"), transaction.atomic():
            Reservation.objects.create(period=period, **owner)


def test_windows_that_overlap_cover_together_what_either_covers_and_the_other_fills_in_when_one_goes(host):
    night = nights(host=host)
    weekend = Window.objects.create(host=host, weekdays=[5], starts_at=time(0), ends_at=time(0), zone="Europe/Berlin")
    timetable.expand()
    # A Saturday, 00:00 to 24:00, less the night before until 06:00 and the one that begins at 20:00.
    # The Saturday at the end of what is written out has no night after it yet.
    now = timezone.now()
    later = [row for row in rows(weekend) if now + DAY < row.lower and row.upper < now + timetable.AHEAD - DAY]
    assert {row.upper - row.lower for row in later} == {timedelta(hours=14)}
    timetable.remove(night)
    timetable.expand()
    covered = sum((row.upper - row.lower for row in rows(weekend)), timedelta())
    assert covered >= 8 * timedelta(hours=23)
    assert not Reservation.objects.filter(window=None).exists()


def test_a_window_is_filled_in_while_it_is_open_and_its_first_part_is_over(host):
    now = timezone.now()
    window = Window.objects.create(host=host, weekdays=list(range(7)), starts_at=time(0), ends_at=time(0), zone="UTC")
    over = DateTimeTZRange(datetime.combine(now.date(), time(0), UTC), now - timedelta(microseconds=1))
    Reservation.objects.create(host=host, window=window, period=over, zone="UTC")
    timetable.expand()
    [rest] = [row for row in rows(window) if row.lower == over.upper]
    assert rest.upper > now + 59 * DAY  # the days of a window that never closes are one period


def test_a_period_given_once_is_cut_out_of_a_window_and_filled_when_it_goes(host):
    tomorrow = datetime.combine((timezone.now() + 2 * DAY).date(), time(0), UTC)
    once = timetable.reserve_once(host, tomorrow, tomorrow + DAY, zone="UTC", reason="disk")
    window = Window.objects.create(host=host, weekdays=list(range(7)), starts_at=time(12), ends_at=time(13), zone="UTC")
    timetable.expand()
    inside = [row for row in rows(window) if tomorrow <= row.lower < tomorrow + DAY]
    assert inside == []
    timetable.remove(once)
    timetable.expand()
    assert [row.lower.hour for row in rows(window) if tomorrow <= row.lower < tomorrow + DAY] == [12]


def test_an_experiment_run_again_is_confined_to_the_same_windows(host):
    new_system(host)
    Workload.objects.create(name="w", tool="pgbench", parameters=testing.PARAMETERS)
    experiment = new_experiment()
    nights(experiment=experiment)
    copy = plan.again(experiment)
    window = copy.windows.get()
    assert (window.starts_at, window.zone) == (time(20), "Europe/Berlin")
    assert copy.reservations.count() > 50  # at once: a turn's times follow those of its plan without a gap
    assert copy.paused_at is None


def test_an_experiment_run_again_after_times_that_passed_waits_for_a_person(host):
    new_system(host)
    Workload.objects.create(name="w", tool="pgbench", parameters=testing.PARAMETERS)
    experiment = new_experiment()
    timetable.reserve_once(experiment, timezone.now() - 2 * DAY, timezone.now() - DAY, zone="UTC", reason="")
    copy = plan.again(experiment)
    copy.refresh_from_db()
    assert copy.paused_at is not None
    assert "give it times of its own" in copy.pause_reason
    assert experiment.paused_at is None
