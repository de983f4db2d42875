"""Looks and cancels come before reserving, and go on where nothing can be reserved."""

import pytest
from django.db import OperationalError

from benchhub.bench.execute import tick

pytestmark = pytest.mark.django_db


def tick_that(monkeypatch, reserve) -> list[str]:
    """Tick once with another way of reserving; return what was done, in order."""
    done: list[str] = []

    def claim(limit, run_ids=()):
        done.append("claim")
        return []

    def reserving():
        done.append("reserve")
        return reserve()

    monkeypatch.setattr(tick.queue, "claim", claim)
    monkeypatch.setattr(tick.due, "reserve", reserving)
    assert tick.tick(lambda _: None) == 0
    return done


def test_what_is_due_is_claimed_before_anything_is_reserved(monkeypatch):
    assert tick_that(monkeypatch, list) == ["claim", "reserve"]


def test_a_reserving_that_fails_ends_no_tick(monkeypatch):
    assert tick_that(monkeypatch, lambda: 1 / 0) == ["claim", "reserve"]


def test_a_warehouse_that_is_away_ends_the_tick(monkeypatch):
    def away():
        raise OperationalError

    with pytest.raises(OperationalError):
        tick_that(monkeypatch, away)


def test_what_looks_have_answered_is_written_although_the_warehouse_then_goes_away(monkeypatch):
    """A deadlock while reserving is no reason to ask hosts again, nor to let leases run out."""
    written = []

    def away():
        raise OperationalError("deadlock detected")

    monkeypatch.setattr(tick, "_begin", lambda _: {"a look": "a job"})
    monkeypatch.setattr(tick, "_advance", lambda begun, _wake, _patience_s: written.append(begun) or [])
    with pytest.raises(OperationalError):
        tick_that(monkeypatch, away)
    assert written == [{"a look": "a job"}]
