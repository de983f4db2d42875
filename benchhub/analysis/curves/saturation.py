"""Tell which resource was full while a level was measured, from what was observed beside its load.

It is evidence and no proof: what is full may be so for another reason than the load, and what limits may not be seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CPU_FULL_PERCENT = 90.0
DISK_FULL_PERCENT = 90.0
MOST_WAIT_SHARE = 0.5
CPU_PARTS = {"cpu_user": "user", "cpu_system": "system", "cpu_iowait": "iowait", "cpu_steal": "steal"}
DISKS = {"data_busy": "data disk", "wal_disk_busy": "WAL disk", "disk_busy": "disks"}
WAIT_PREFIX, WORKING = "wait:", "wait:CPU"
# The server has nothing to do then: it is no part of it that is full.
OF_CLIENTS = "Client:"
NO_TELEMETRY, NOTHING_FULL = "no telemetry", "nothing was full"
LIMITS = (
    "Means over the load of one run at each level, the one nearest the level's mean. Full is evidence and no proof of "
    "the cause: a disk that is always busy may still take more in parallel, a guest sees only its own CPUs, and a "
    "single busy core is not seen in the mean of all."
)


@dataclass(frozen=True, slots=True)
class Saturation:
    """What was full at a level, in words, and the numbers that say so."""

    words: str
    evidence: str = ""
    is_full: bool = False


def saturation(metrics: Mapping[str, Sequence[float | None]]) -> Saturation:
    """Return what was full. `metrics` are values over the load by name: percent, and sessions for waits."""
    means = {name: mean for name, values in metrics.items() if (mean := _mean(values)) is not None}
    if not means:
        return Saturation(NO_TELEMETRY)
    parts = [*_cpu(means), *_disks(means), *_waits(means)]
    full = [words for words, _, is_full in parts if is_full]
    evidence = "; ".join(text for _, text, _ in parts)
    return Saturation(", ".join(full) or NOTHING_FULL, evidence, bool(full))


Part = tuple[str, str, bool]


def _cpu(means: Mapping[str, float]) -> list[Part]:
    shares = {words: means[name] for name, words in CPU_PARTS.items() if name in means}
    if "user" not in shares:
        return []
    busy = shares["user"] + shares.get("system", 0.0) + shares.get("steal", 0.0)
    listed = ", ".join(f"{words} {share:.0f}%" for words, share in shares.items() if share >= 1)
    return [(f"CPU {busy:.0f}%", f"CPU {busy:.0f}% busy ({listed or 'idle'})", busy >= CPU_FULL_PERCENT)]


def _disks(means: Mapping[str, float]) -> list[Part]:
    """Take the devices of data and WAL where they are told apart, else all together."""
    names = [name for name in ("data_busy", "wal_disk_busy") if name in means] or ["disk_busy"]
    return [
        (f"{DISKS[name]} {share:.0f}%", f"{DISKS[name]} {share:.0f}% busy", share >= DISK_FULL_PERCENT)
        for name in names
        if (share := means.get(name)) is not None
    ]


def _waits(means: Mapping[str, float]) -> list[Part]:
    """Name the wait event of most active sessions; those at work count as active, and wait for nothing."""
    waits = {name: mean for name, mean in means.items() if name.startswith(WAIT_PREFIX)}
    sessions = sum(waits.values())
    longest = max((name for name in waits if name != WORKING), key=lambda name: waits[name], default="")
    if not longest or not sessions:
        return []
    share, event = waits[longest] / sessions, longest.removeprefix(WAIT_PREFIX)
    if event.startswith(OF_CLIENTS):
        text = f"{share:.0%} of active sessions waited for their clients"
        return [(f"clients waited for ({share:.0%} of active sessions)", text, False)]
    text = f"{share:.0%} of active sessions waited for {event}"
    return [(f"{event} ({share:.0%} of active sessions)", text, share >= MOST_WAIT_SHARE)]


def _mean(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None
