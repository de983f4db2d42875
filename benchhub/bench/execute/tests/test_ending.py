"""A worker whose process ends while its threads still have ticks to do."""

import threading

import pytest

from benchhub.bench.execute import looks, tick
from benchhub.bench.queue import queue


@pytest.fixture
def claims(monkeypatch):
    """Return the list of what was claimed; nothing is, as this process has only its threads left."""
    claimed = []
    ended = threading.Thread(target=int)
    ended.start()
    ended.join()
    monkeypatch.setattr(tick, "main_thread", lambda: ended)
    monkeypatch.setattr(looks, "note_signs", lambda *_: claimed.append("signs"))
    monkeypatch.setattr(queue, "claim", lambda *limits: claimed.append(limits) or [])
    return claimed


@pytest.mark.parametrize("run_ids", [(), (1, 2)])
def test_a_process_that_ends_claims_nothing_that_it_could_not_begin(claims, run_ids):
    assert tick.tick(lambda *_: None, run_ids) == 0
    assert claims == []


def test_an_ending_in_the_middle_of_a_tick_leaves_what_comes_next_to_others(claims, monkeypatch):
    monkeypatch.setattr(tick, "main_thread", iter([threading.main_thread(), tick.main_thread()]).__next__)
    monkeypatch.setattr(tick, "_begin_next", dict)
    monkeypatch.setattr(tick, "_begin", lambda _: {})
    monkeypatch.setattr(tick, "_advance", lambda *_: ["a step"])
    assert tick.tick(lambda *_: None) == 1
    assert len(claims) == 2  # the signs and the first claim, and no other
