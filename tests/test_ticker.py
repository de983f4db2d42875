"""The ticker counts by a clock that nobody sets."""

import time

import pytest

from benchhub.ticker import MonotonicScheduler, app


class Ticker(MonotonicScheduler):
    """Notes what it would send; `now_s` is its clock."""

    def __init__(self):
        self.now_s, self.sent = 1000.0, []
        super().__init__(app, lazy=True)
        self.setup_schedule()

    def clock(self):
        return self.now_s

    def apply_entry(self, entry, producer=None):
        del producer
        self.sent.append(entry.name)

    @property
    def producer(self):
        return None


@pytest.fixture
def every_s():
    return app.conf.beat_schedule["tick"]["schedule"]


def test_it_sends_at_once_and_then_at_its_interval(every_s):
    ticker = Ticker()
    assert ticker.tick() == pytest.approx(every_s)
    ticker.now_s += every_s - 0.1
    assert ticker.tick() == pytest.approx(0.1)
    assert ticker.sent == ["tick"]
    ticker.now_s += 0.1
    ticker.tick()
    assert ticker.sent == ["tick", "tick"]


@pytest.mark.parametrize("step_s", [-7200, 7200])
def test_a_step_of_the_wall_clock_changes_nothing(monkeypatch, every_s, step_s):
    ticker, now = Ticker(), time.time
    ticker.tick()
    monkeypatch.setattr(time, "time", lambda: now() + step_s)
    assert ticker.tick() == pytest.approx(every_s)
    ticker.now_s += every_s
    ticker.tick()
    assert ticker.sent == ["tick", "tick"]


def test_what_was_missed_in_a_long_pause_is_sent_once(every_s):
    ticker = Ticker()
    ticker.tick()
    ticker.now_s += 100 * every_s
    ticker.tick()
    ticker.tick()
    assert ticker.sent == ["tick", "tick"]
