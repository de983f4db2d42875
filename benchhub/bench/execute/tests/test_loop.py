"""The watch on the event loop that speaks to all hosts."""

import asyncio
import threading
import time

import pytest

from benchhub.bench.execute import loop, workers
from benchhub.bench.models import Worker


@pytest.mark.django_db
def test_a_loop_that_is_held_is_told_of_until_it_turns_again(monkeypatch):
    monkeypatch.setattr(loop, "TURN_EVERY_S", 0.01)
    release, held = threading.Event(), threading.Event()

    async def hold() -> None:
        held.set()
        release.wait(60)  # as a parser would that never ends

    future = loop.submit(hold())
    assert held.wait(60)
    before_s = loop.silent_s()
    time.sleep(1.2)
    assert loop.silent_s() > before_s
    workers.note()
    assert Worker.objects.get().loop_silent_s > 0
    released_at_s = time.monotonic()
    release.set()
    future.result(60)
    while loop._turned_at_s[0] < released_at_s:
        loop.submit(asyncio.sleep(0)).result(60)
