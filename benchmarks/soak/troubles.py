"""What is broken at the moment, for whom, and since when: by it recovery and cancels are judged."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone


@dataclass
class Trouble:
    """One fault. Where it `blocks`, nobody can work on its hosts until it heals; others delay what is in hand.

    `timeouts_s` are the time-outs of SSH that may have to run out after it has healed.
    """

    name: str
    hosts: frozenset[str]
    blocks: bool
    timeouts_s: float
    begun_at: datetime = field(default_factory=timezone.now)
    healed_at: datetime | None = None


@dataclass
class Troubles:
    """All faults of a soak; written by who injects, read by who watches."""

    entries: list[Trouble] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, trouble: Trouble) -> None:
        with self.lock:
            self.entries.append(trouble)

    def heal(self, trouble: Trouble) -> None:
        trouble.healed_at = timezone.now()

    def of(self, host: str) -> list[Trouble]:
        with self.lock:
            return [trouble for trouble in self.entries if host in trouble.hosts]

    def before(self, host: str, count: int = 6) -> str:
        """Name the last faults of a host, and how long ago each began and healed."""
        now = timezone.now()
        last = self.of(host)[-count:]
        return ", ".join(
            f"{trouble.name} {(now - trouble.begun_at).total_seconds():.0f} to "
            f"{(now - (trouble.healed_at or now)).total_seconds():.0f} s ago"
            for trouble in last
        )

    def is_blocked(self, host: str) -> bool:
        return any(trouble.blocks and trouble.healed_at is None for trouble in self.of(host))

    def calm_since(self, host: str) -> datetime | None:
        """Return when the last fault of the host healed or, where it blocks nothing, began."""
        times = [trouble.healed_at if trouble.blocks else trouble.begun_at for trouble in self.of(host)]
        return max((time for time in times if time), default=None)
