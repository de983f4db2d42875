"""Deadlines of jobs on their hosts: far from what an honest job takes, so that only one that hangs meets its own."""

from __future__ import annotations

FACTOR = 5


def deadline_s(expected_s: int, load_s: int, *, least_s: int) -> int:
    """Return after how many seconds a job that has not ended is ended by its host.

    Preparation, such as vacuum or a checkpoint, may take as long as loading the data set (`load_s`) once.
    """
    return max(least_s, FACTOR * (expected_s + load_s))
