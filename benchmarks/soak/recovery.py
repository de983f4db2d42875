"""Watch each host after each fault: within two leases it is looked at again, or a run of it moves.

Leases are counted in the installation's own ticks: a machine that is too busy to tick has no time that counts. While
another fault keeps everybody from a host, and whenever one more befalls it, the count begins anew.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from .troubles import Trouble, Troubles

SAMPLE_S = 0.25
LEASES = 2


@dataclass
class Wait:
    """A host that has not been seen to go on since a fault of it healed."""

    trouble: Trouble
    host: str
    calm_at: datetime | None = None
    begun_ticked_s: float = 0.0


@dataclass
class Recovery:
    """`ticked_s` is the time that the installation's ticks have taken."""

    troubles: Troubles
    lease_s: float
    longest: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    late: list[str] = field(default_factory=list)
    idle: int = 0
    ticked_s: float = 0.0
    ticks: list[tuple[datetime, float]] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    _watched: set[int] = field(default_factory=set)
    _last_tick: datetime | None = None
    _last_tick_s: float = field(default_factory=time.monotonic)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        self._is_over.set()

    def _watch(self) -> None:
        from django.db import InterfaceError, OperationalError, connection

        while not self._is_over.wait(SAMPLE_S):
            try:
                self._count_tick()
                self._look()
            except (OperationalError, InterfaceError):  # the warehouse is away, and nobody can work
                connection.close()
        connection.close()

    def _count_tick(self) -> None:
        from django.db.models import Max

        from benchhub.bench.models import Worker

        tick, now_s = Worker.objects.aggregate(tick=Max("ticked_at"))["tick"], time.monotonic()
        if tick and tick != self._last_tick:
            self.ticked_s += min(now_s - self._last_tick_s, self.lease_s / 12)
            self._last_tick, self._last_tick_s = tick, now_s
            self.ticks.append((timezone.now(), self.ticked_s))

    def ticked_between_s(self, begin: datetime, end: datetime) -> float:
        """Return the time that the installation's ticks took between two moments."""
        ticked_s = [0.0, *(total_s for _, total_s in self.ticks)]
        first, last = (bisect_right(self.ticks, moment, key=lambda tick: tick[0]) for moment in (begin, end))
        return ticked_s[last] - ticked_s[first]

    def _look(self) -> None:
        for trouble in list(self.troubles.entries):
            if trouble.healed_at and id(trouble) not in self._watched:
                self._watched.add(id(trouble))
                self.waits += [Wait(trouble, host) for host in sorted(trouble.hosts)]
        if self.waits:
            activity = Activity.now()
            self.waits = [wait for wait in self.waits if self._still_waits(wait, activity)]

    def _still_waits(self, wait: Wait, activity: Activity) -> bool:
        calm_at = self.troubles.calm_since(wait.host)
        assert wait.trouble.healed_at
        if activity.moved.get(wait.host, wait.trouble.begun_at) > wait.trouble.healed_at:
            self.longest[wait.trouble.name].append(self._waited_s(wait))
            return False
        if wait.host not in activity.busy:
            self.idle += 1
            return False
        if wait.host in activity.paused or self.troubles.is_blocked(wait.host):
            wait.calm_at = None
        elif wait.calm_at != calm_at:
            wait.calm_at, wait.begun_ticked_s = calm_at, self.ticked_s
        elif self._waited_s(wait) > self._bound_s(wait):
            sentence = f"{wait.host} was not at work {self._waited_s(wait):.0f} s after {wait.trouble.name} had healed"
            self.late.append(f"{sentence}: {activity.busy[wait.host]} (before: {self.troubles.before(wait.host)})")
            return False
        return True

    def _waited_s(self, wait: Wait) -> float:
        return self.ticked_s - wait.begun_ticked_s if wait.calm_at else 0.0

    def _bound_s(self, wait: Wait) -> float:
        """Return two leases, and the longest time-out that a fault of the host may have left running by then."""
        assert wait.calm_at
        timeouts_s = [
            trouble.timeouts_s
            for trouble in self.troubles.of(wait.host)
            if trouble.healed_at and trouble.healed_at > wait.calm_at - timedelta(seconds=trouble.timeouts_s + 1)
        ]
        return LEASES * self.lease_s + max(timeouts_s, default=0)


@dataclass(frozen=True)
class Activity:
    """When each host was last seen at work, which have runs that could go on, and which wait for a person."""

    moved: dict[str, datetime]
    busy: dict[str, str]
    paused: set[str]

    @classmethod
    def now(cls) -> Activity:
        from django.db.models import Max

        from benchhub.bench.models import Run
        from benchhub.bench.models.states import ACTIVE, FINAL
        from benchhub.catalog.models import Host

        moved: dict[str, datetime] = {}
        moves = Run.objects.values_list("system__driver__name", "system__instance__host__name").annotate(
            event=Max("events__at"), look=Max("watch__last_contact_at")
        )
        for *hosts, event, look in moves:
            for host in hosts:
                times = [moment for moment in (moved.get(host), event, look) if moment]
                if times:
                    moved[host] = max(times)
        unfinished = Run.objects.exclude(state__in=FINAL)
        words = ("system__driver__name", "system__instance__host__name", "state", "watch__contact_error")
        rows = [*unfinished.values_list(*words), *unfinished.filter(state__in=ACTIVE).values_list(*words)]
        busy = {host: f"{state} {error or ''}" for *hosts, state, error in rows for host in hosts}
        return cls(moved, busy, set(Host.objects.filter(paused_at__isnull=False).values_list("name", flat=True)))
