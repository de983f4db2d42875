"""Measure the throughputs of loads side by side, of which only one works at a time, for a fraction of a second.

The speed of a shared machine changes by a third within a fraction of a second, so that loads one after the other differ
by as much. Here each is stopped (SIGSTOP, its whole process group) while another works, in an order that is drawn anew
for each cycle: what changes more slowly than a cycle touches all of them alike. A load's transactions are those of all
its slices; at its end pgbench's time is up while it is stopped, so that it only ends what it had begun. Each needs a
database of its own: one that is stopped within a transaction keeps its locks, and others would wait for them.

Before its slices each load warms up by itself: it connects, prepares its statements, and the server plans them anew
for some executions. That is counted by the server and left out, as TATP leaves out its ramp-up: here, where a load
works for seconds only, it would take from the throughput what it takes of no run.

All that belongs to a load works on one CPU, drawn for each cycle and the same for all loads of it. Where client
and server may work on two, their throughput hangs on where the system puts them, and on CPUs that fall asleep and are
woken: two loads that are the same differ by a tenth. One CPU never idles, so that each microsecond that is spent is
missing from the throughput, and nothing that a load adds can hide.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchhub.embedded import proc
from runners.tools.pgbench.output import read_summary

# The shorter, the less two loads that are the same differ, and the more of a slice goes to the change of loads.
SLICE_S = 0.03
WARM_UP_S, LOOKS = 2.0, 4
# A server's process that is idle tells within so long what it has counted (PGSTAT_IDLE_INTERVAL, and some time).
TOLD_AFTER_S = 10.5
# So long before the first load's time is up all are stopped, and so long after the last one's is they go on.
BEFORE_THE_END_S, AFTER_THE_END_S = 0.4, 0.1
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass
class Load:
    """A pgbench that has been started with -T; `summary` waits for its end and returns what it printed.

    `counted`: the transactions that the server says have ended since it was started.
    """

    pid: int
    summary: Callable[[], str]
    backends: Callable[[], Sequence[int]]
    counted: Callable[[], int]
    warmed_up: int = 0
    working_s: float = 0.0
    begun_s: float = field(init=False)
    since_s: float = field(init=False)
    tasks: Sequence[int] = ()

    def __post_init__(self) -> None:
        """Note since when the load works, which is since it was started."""
        process = proc.identify(self.pid)
        if process is None:
            sys.exit("pgbench ended as soon as it had begun.")
        self.begun_s = self.since_s = process.started_ticks / TICKS_PER_S
        self.group = os.getpgid(self.pid)
        if self.group == os.getpgid(0) or self.group != os.getsid(self.pid):
            raise ValueError("A load needs a session of its own, and its process group.")

    def stop(self) -> None:
        os.killpg(self.group, signal.SIGSTOP)
        self.working_s += _now_s() - self.since_s

    def look(self) -> None:
        """Find the threads of its session, and the server's processes for it."""
        session = [self.group, *(process.pid for process in proc.family(self.group))]
        self.tasks = [*(task for pid in session for task in _threads(pid)), *self.backends()]

    def keep_to(self, cpus: Collection[int]) -> None:
        for task in self.tasks:
            with suppress(ProcessLookupError):  # its end its summary will tell
                os.sched_setaffinity(task, cpus)

    def go_on(self) -> None:
        os.killpg(self.group, signal.SIGCONT)
        self.since_s = _now_s()

    def begin_to_count(self) -> None:
        self.warmed_up = self.counted()
        self.working_s = 0.0

    def tps(self) -> float:
        """Return the transactions that ended, also those that failed, per second of its slices."""
        value = summed_up(self.summary())
        ended = value["transactions"] + value.get("failed_transactions", 0)
        return (ended - self.warmed_up) / self.working_s


def summed_up(printed: str) -> dict[str, float]:
    """Return the measures of pgbench's summary by name; end the program where there is none."""
    summary = read_summary(printed, connect_each=False)
    if summary.missing:
        sys.exit(f"{summary.missing}\n{printed}")
    return {name: measure.value for name, measure in summary.measures.items()}


def running(word: str) -> int | None:
    """Return the process of a pgbench that was given this word; None where there is none."""
    for pid in proc.pids():
        words = proc.command_line(pid)
        if words and words[0].endswith("/pgbench") and word in words:
            return pid
    return None


def _threads(pid: int) -> list[int]:
    try:
        return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:  # it has ended meanwhile
        return []


def throughputs(starts: Mapping[str, Callable[[], Load]], duration_s: float, order: random.Random) -> dict[str, float]:
    """Return the TPS of loads that last `duration_s` together; they are started in the order given."""
    loads: dict[str, Load] = {}
    try:
        _share_out(loads, starts, duration_s, order)
    finally:
        for load in loads.values():
            with suppress(ProcessLookupError):  # one that broke has ended, which its summary will tell
                load.go_on()  # a stopped one would stay for ever
            load.keep_to(os.sched_getaffinity(0))
    return {name: load.tps() for name, load in loads.items()}


def _share_out(
    loads: dict[str, Load], starts: Mapping[str, Callable[[], Load]], duration_s: float, order: random.Random
) -> None:
    """Start the loads, give out slices, and leave all stopped when the time of the last one is up."""
    cpus = sorted(os.sched_getaffinity(0))
    cpu = order.choice(cpus)
    for name, start in starts.items():
        loads[name] = start()
        for _ in range(LOOKS):
            time.sleep(WARM_UP_S / LOOKS)  # the warm-up itself; sessions that it opened meanwhile are then found
            loads[name].look()
            loads[name].keep_to({cpu})
        loads[name].stop()
    if len({len(load.tasks) for load in loads.values()}) > 1:
        sys.exit("The loads differ in their number of tasks, each of which takes time to stop and wake.")
    time.sleep(TOLD_AFTER_S)  # nothing shows that an idle process of the server has handed over its counts
    for load in loads.values():
        load.begin_to_count()
    ends_s = [load.begun_s + duration_s for load in loads.values()]
    while _now_s() + len(loads) * SLICE_S < min(ends_s) - BEFORE_THE_END_S:
        cpu = order.choice(cpus)
        for name in order.sample(list(loads), len(loads)):
            loads[name].keep_to({cpu})
            loads[name].go_on()
            time.sleep(SLICE_S)  # the slice itself
            loads[name].stop()
    time.sleep(max(0.0, max(ends_s) + AFTER_THE_END_S - _now_s()))  # pgbench's own clocks run out meanwhile


def _now_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
