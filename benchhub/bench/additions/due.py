"""What has become due since the last look: steps of plans that grow, loads of data sets, and runs that may start."""

from __future__ import annotations

from benchhub.bench.plan import growth
from benchhub.bench.queue import queue

from . import data_sets


def reserve() -> list[int]:
    """Plan what has become due, then reserve what may run; returns the keys of the runs reserved."""
    growth.grow()
    data_sets.load_anew()
    return queue.reserve()
