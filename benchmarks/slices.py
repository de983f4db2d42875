"""Loads side by side, of which only one works at a time, for a fraction of a second each: their throughputs.

The speed of a shared machine changes by several per cent within seconds, so that loads one after the other differ by
as much. Here each is stopped (SIGSTOP, its whole process group) while another works, in an order that is drawn anew for
each cycle: what changes more slowly than a cycle touches all of them alike. A load's transactions are those of all its
slices; at its end pgbench's time is up while it is stopped, so that it only ends what it had begun.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from runners.tools.pgbench_output import read_summary

SLICE_S = 0.15
# So long before the first load's time is up all are stopped, and so long after the last one's is they go on.
BEFORE_THE_END_S, AFTER_THE_END_S = 0.4, 0.1
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass
class Load:
    """A pgbench that has been started with -T; `summary` waits for its end and returns what it printed."""

    pid: int
    summary: Callable[[], str]
    working_s: float = 0.0
    begun_s: float = field(init=False)
    since_s: float = field(init=False)

    def __post_init__(self) -> None:
        """It works since it was started: field 22 of proc(5), in clock ticks since boot."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        self.begun_s = self.since_s = int(fields[19]) / TICKS_PER_S
        self.group = os.getpgid(self.pid)
        if self.group == os.getpgid(0):
            raise ValueError("A load needs a process group of its own.")

    def stop(self) -> None:
        os.killpg(self.group, signal.SIGSTOP)
        self.working_s += _now_s() - self.since_s

    def go_on(self) -> None:
        os.killpg(self.group, signal.SIGCONT)
        self.since_s = _now_s()

    def tps(self) -> float:
        """Transactions that ended, also those that failed, per second of its slices without those spent to connect."""
        value = summed_up(self.summary())
        ended = value["transactions"] + value.get("failed_transactions", 0)
        return ended / (self.working_s - value["initial_connection_time_ms"] / 1000)


def summed_up(printed: str) -> dict[str, float]:
    """The measures of pgbench's summary by name; ends the program where there is none."""
    found = read_summary(printed, connect_each=False)
    if found.missing:
        sys.exit(f"{found.missing}\n{printed}")
    return {name: measure.value for name, measure in found.measures.items()}


def throughputs(starts: Mapping[str, Callable[[], Load]], duration_s: float, order: random.Random) -> dict[str, float]:
    """TPS of loads that last `duration_s` together; they are started in the order given."""
    loads: dict[str, Load] = {}
    try:
        _share_out(loads, starts, duration_s, order)
    finally:
        for load in loads.values():
            with suppress(ProcessLookupError):  # one that broke has ended, which its summary will tell
                load.go_on()  # a stopped one would stay for ever
    return {name: load.tps() for name, load in loads.items()}


def _share_out(
    loads: dict[str, Load], starts: Mapping[str, Callable[[], Load]], duration_s: float, order: random.Random
) -> None:
    """Start the loads, give out slices, and leave all stopped when the time of the last one is up."""
    for name, start in starts.items():
        loads[name] = start()
        time.sleep(SLICE_S)  # its first slice, in which it connects
        loads[name].stop()
    ends_s = [load.begun_s + duration_s for load in loads.values()]
    while _now_s() + len(loads) * SLICE_S < min(ends_s) - BEFORE_THE_END_S:
        for name in order.sample(list(loads), len(loads)):
            loads[name].go_on()
            time.sleep(SLICE_S)  # the slice itself
            loads[name].stop()
    time.sleep(max(0.0, max(ends_s) + AFTER_THE_END_S - _now_s()))  # pgbench's own clocks run out meanwhile


def _now_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
