"""Compute how busy a machine is by itself, from the counters of Linux."""

from __future__ import annotations

BUSY_PERCENT = 10.0
# At a glance of a third of a second, into which what BenchHub itself does to start a run may fall.
BUSY_AT_A_GLANCE_PERCENT = 25.0
IDLE_FIELDS = (3, 4)  # idle and iowait, in the order of /proc/stat (proc(5))


def busy_percent(before: str, after: str) -> float | None:
    """Return the percentage of all CPUs' time between two `cpu ...` lines of /proc/stat that was not idle.

    None if no time passed, or if a line is damaged: a full disk cuts it short.
    """
    try:
        earlier, later = ([int(word) for word in line.split()[1:9]] for line in (before, after))
        ticks = [max(0, end - start) for start, end in zip(earlier, later, strict=True)]
        idle = sum(ticks[field] for field in IDLE_FIELDS)
    except (ValueError, IndexError):
        return None
    return 100 * (1 - idle / sum(ticks)) if any(ticks) else None
