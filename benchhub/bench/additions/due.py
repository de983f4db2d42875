"""What has become due since the last look: steps of plans that grow, builds, loads of data sets, and runs."""

from __future__ import annotations

from benchhub.bench.plan import growth
from benchhub.bench.queue import gates, queue

from . import builds, data_sets


def reserve() -> list[int]:
    """Plan what has become due, then reserve what may run, builds first; returns the keys of the runs reserved."""
    growth.grow()
    builds.take_turns()
    # Read once: where a run ends after loads are planned the next may lack its data, and a later one would overtake it.
    drivers = gates.free_drivers()
    data_sets.load_anew(drivers)
    return queue.reserve(drivers)
