"""Ticks that pile up, and ticks that must not be left out."""

import pytest
from django.conf import settings
from django.db import OperationalError

from benchhub.bench.execute import clusters, tasks, tick, tidy, visits, workers
from benchhub.bench.models import EndedCount, EndedTally, Watch
from benchhub.bench.queue import timetable
from benchhub.bench.webhooks import notices


@pytest.fixture
def taken(monkeypatch):
    """The ticks that were not left out, by what they named."""
    taken = []
    monkeypatch.setattr(workers, "note", lambda: None)
    monkeypatch.setattr(visits, "visit_hosts", lambda: 0)
    monkeypatch.setattr(clusters, "visit_clusters", lambda: 0)
    monkeypatch.setattr(tidy, "tidy", lambda: 0)
    monkeypatch.setattr(EndedCount.objects, "fold", lambda: None)
    monkeypatch.setattr(EndedTally.objects, "fold", lambda: None)
    monkeypatch.setattr(Watch.objects, "forget", lambda: 0)
    monkeypatch.setattr(notices, "is_any_due", lambda: False)
    monkeypatch.setattr(timetable, "expand", lambda: 0)
    monkeypatch.setattr(tick, "tick", lambda _wake, run_ids, _patience_s: taken.append(tuple(run_ids)))
    monkeypatch.setattr(tasks, "_last_s", [float("-inf")])
    return taken


def test_of_ticks_that_piled_up_one_is_taken(taken):
    for _ in range(16):
        tasks.tick(is_scheduled=True)
    assert taken == [()]


def test_the_next_tick_in_time_is_taken(taken):
    tasks.tick(is_scheduled=True)
    tasks._last_s[0] -= settings.TICK_SECONDS
    tasks.tick(is_scheduled=True)
    assert taken == [(), ()]


def test_a_wake_is_taken_however_recent_the_last_tick_is(taken):
    tasks.tick(is_scheduled=True)
    tasks.tick(run_ids=(7,))
    tasks.tick()
    assert taken == [(), (7,), ()]


def test_no_message_carries_a_time_at_which_it_expires():
    assert "expires" not in str(settings.CELERY_BEAT_SCHEDULE)


def test_a_step_that_fails_keeps_no_other_of_the_tick_from_its_turn(taken, monkeypatch, caplog):
    tidied = []
    monkeypatch.setattr(tidy, "tidy", lambda: tidied.append(1))

    def expand():
        raise ValueError("no such zone")

    monkeypatch.setattr(timetable, "expand", expand)
    tasks.tick(is_scheduled=True)
    assert (taken, tidied) == ([()], [1])
    assert "A step of the tick failed" in caplog.text and "no such zone" in caplog.text


def test_where_the_warehouse_is_away_the_tick_ends_and_says_so(taken, monkeypatch):
    def expand():
        raise OperationalError("the connection is lost")

    monkeypatch.setattr(timetable, "expand", expand)
    with pytest.raises(OperationalError):
        tasks.tick(is_scheduled=True)
    assert taken == []
