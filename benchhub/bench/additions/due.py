"""What has become due since the last look: steps of plans that grow, loads of data sets, builds, and runs."""

from __future__ import annotations

from benchhub.bench.plan import growth
from benchhub.bench.queue import queue

from . import builds, data_sets


def reserve() -> list[int]:
    """Plan what has become due, then reserve what may run, builds first; returns the keys of the runs reserved."""
    growth.grow()
    data_sets.load_anew()
    builds.take_turns()
    return queue.reserve()
