"""Expect how fast a load will be, from levels that a system has shown with the same workload."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

FARTHEST = 2  # times as many clients, or as few


def expected_tps(clients: int, tps_by_clients: Mapping[int, float]) -> float | None:
    """Return the throughput of the nearest level, or None where none lies within a factor of two.

    From fewer clients it grows as their number does, which it seldom exceeds; from more it is taken as it is.
    """
    near = [level for level in tps_by_clients if clients <= FARTHEST * level and level <= FARTHEST * clients]
    if not near:
        return None
    level = min(near, key=lambda level: (abs(log(level / clients)), level))
    return tps_by_clients[level] * max(1.0, clients / level)
