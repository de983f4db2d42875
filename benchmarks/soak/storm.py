"""The faults around the runs of a soak, injected one at a time, of which several may last at once."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchhub.embedded.postgres import Cluster
from benchhub.embedded.processes import Child
from tests.faults import clocks
from tests.faults.rig import Rig

from .hosts import SoakHost
from .troubles import Trouble, Troubles

if TYPE_CHECKING:
    from benchhub.bench.models import Run

# How much longer than planned it waits between faults where the installation hardly ticks: it is busy, or broken.
MOST_PATIENCE = 8
# What a mend returns that has to be tried again: the warehouse is away, whose own mend is still to come.
NOT_YET, AGAIN_S = object(), 0.5
WORKER_OPTIONS = ("-P", "threads", "-c", "12", "-l", "INFO", "--without-gossip", "--without-mingle")


@dataclass
class Storm:
    """`beside` is the host of a server whose driver is another one; nothing else runs there.

    `ticked_s` is the clock of the pauses between faults, that of the installation's own ticks: workers that take a busy
    machine a minute to start would all be killed before they ticked.
    """

    rig: Rig
    warehouse: Cluster
    hosts: list[SoakHost]
    beside: SoakHost
    runs: list[tuple[SoakHost, Run]]
    chance: random.Random
    pause_s: float
    lease_s: float
    ticked_s: Callable[[], float]
    troubles: Troubles = field(default_factory=Troubles)
    workers: dict[str, Child] = field(default_factory=dict)
    tickers: dict[str, Child] = field(default_factory=dict)
    later: list[tuple[float, Callable[[], object]]] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    broken: set[str] = field(default_factory=set)
    cancelled: set[int] = field(default_factory=set)
    campaign: list[Run] = field(default_factory=list)
    resumed: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    longest_ask_s: float = 0.0

    def start(self) -> None:
        for name in ("one", "two"):
            self.start_ticker(name)
            self.workers[name] = self.rig.worker(f"worker-{name}", **self._clock(f"worker-{name}"))

    def start_worker(self, name: str) -> None:
        words = ("worker", *WORKER_OPTIONS, "-n", f"{name}@x")
        self.workers[name] = self.rig._celery(f"worker-{name}", *words, **self._clock(f"worker-{name}"))

    def start_ticker(self, name: str) -> None:
        self.tickers[name] = self.rig.ticker(f"ticker-{name}", **self._clock(f"ticker-{name}"))

    def supervise(self) -> None:
        """Start what ended by itself anew, as whoever runs BenchHub does; it is counted, for nothing may end it."""
        for children, start in ((self.workers, self.start_worker), (self.tickers, self.start_ticker)):
            for name, child in list(children.items()):
                if child.exit_code is not None:
                    self.ended[f"{child.name}, with {child.exit_code}"] += 1
                    start(name)

    def set_clock(self, process: str, hours: int) -> None:
        """Set the wall clock of a worker or ticker apart from the machine's; the monotonic one is left alone."""
        clocks.set_apart(self.rig.folder / f"clock-{process}", hours)

    def _clock(self, process: str) -> dict[str, str]:
        file = self.rig.folder / f"clock-{process}"
        return clocks.settable(self.rig.account, file) if clocks.can_be_set() else {}

    # --- faults --------------------------------------------------------------------------------------------------

    def inject(self, faults: dict[str, Callable[[Storm], None]]) -> None:
        """Inject one fault, wait a while, and mend those whose time is over."""
        name = self.chance.choice([name for name in faults if name not in self.broken])
        self.done[name] += 1
        faults[name](self)
        self._wait(self.chance.uniform(0.3, 2 * self.pause_s - 0.3))

    def _wait(self, pause_s: float) -> None:
        until_s, end_s = self.ticked_s() + pause_s, time.monotonic() + MOST_PATIENCE * pause_s
        time.sleep(min(pause_s, 0.3))  # the installation ticks meanwhile
        while self.ticked_s() < until_s and time.monotonic() < end_s:
            self._mend_until(time.monotonic())
            time.sleep(0.1)  # between two looks
        self._mend_until(time.monotonic())

    def mend(self) -> None:
        """End every fault that lasts; some can be ended only after another."""
        while self.later:
            self._mend_until(float("inf"))

    def lasting(
        self,
        name: str,
        mend: Callable[[], object],
        hosts: Iterable[SoakHost] | None = None,
        *,
        most_leases: float = 2,
        blocks: bool = True,
        timeouts_s: float = 0,
    ) -> None:
        """Keep up one fault for a while; the same one is not injected again meanwhile. Without hosts it is for all."""
        self.broken.add(name)
        trouble = self.trouble(name, hosts, blocks=blocks, timeouts_s=timeouts_s)

        def over() -> None:
            if mend() is NOT_YET:
                self.later.append((time.monotonic() + AGAIN_S, over))
                return
            self.broken.discard(name)
            self.troubles.heal(trouble)

        self.later.append((time.monotonic() + self.chance.uniform(0.2, most_leases) * self.lease_s, over))

    def momentary(self, name: str, hosts: Iterable[SoakHost] | None = None) -> None:
        """Note a fault that is over as soon as it was there."""
        self.troubles.heal(self.trouble(name, hosts, blocks=False, timeouts_s=0))

    def trouble(self, name: str, hosts: Iterable[SoakHost] | None, *, blocks: bool, timeouts_s: float) -> Trouble:
        names = {host.name for host in (self.all_hosts if hosts is None else hosts)}
        if self.beside.name in names:  # its server has no other driver
            names.add(self.hosts[-1].name)
        trouble = Trouble(name, frozenset(names), blocks, timeouts_s)
        self.troubles.begin(trouble)
        return trouble

    @property
    def all_hosts(self) -> list[SoakHost]:
        return [*self.hosts, self.beside]

    def any_host(self) -> SoakHost:
        return self.chance.choice(self.hosts)

    def _mend_until(self, now_s: float) -> None:
        due = [entry for entry in self.later if entry[0] <= now_s]
        self.later = [entry for entry in self.later if entry[0] > now_s]
        for _, over in due:
            over()
