"""The home page: a board of what runs, was found, needs a person and is planned; at the start, the first steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.db.models import Count, Sum

from benchhub.analysis.words import count, word
from benchhub.bench.models import Experiment, Run
from benchhub.bench.queue.progress import counted
from benchhub.catalog.models import Host

from . import findings, needs, trends
from .calendar import Lane, Week
from .findings import Finding
from .first_steps import FirstStep, first_steps
from .needs import MOST_NEEDS, Need
from .running import MOST_RUNNING, Running, active, running
from .trends import Trend

NEXT = 5
MOST_LANES = 8


@dataclass(frozen=True, slots=True)
class Queued:
    """The queued runs: how many, in words too, and their seconds of load."""

    count: int
    words: str
    seconds: float


@dataclass(frozen=True)
class HomePage:
    """The board, or else the first steps; everything on it is bounded, however much there is."""

    running: Sequence[Running]
    active_count: int
    next: Sequence[Experiment]
    queue: Queued
    findings: Sequence[Finding]
    all_needs: Sequence[Need]
    week: Week
    lanes: Sequence[Lane]
    trends: Sequence[Trend]
    first_steps: Sequence[FirstStep]
    is_empty: bool

    @classmethod
    def load(cls, now: datetime, zone: ZoneInfo) -> HomePage:
        """Read what the page shows; the first steps only while there are no experiments but demonstrations."""
        runs, week, waiting = active(), Week.ahead(now, zone), _next()
        return cls(
            running=running(runs, now),
            active_count=len(runs),
            next=waiting,
            queue=_queued(),
            findings=findings.findings(now),
            all_needs=needs.needs(runs, now),
            week=week,
            lanes=week.lanes(_busy_hosts(week)),
            trends=trends.trends(now),
            first_steps=first_steps(),
            is_empty=not (runs or waiting or Experiment.objects.exists()),
        )

    @property
    def summary(self) -> str:
        """Say in a line how much runs, waits and needs a person."""
        active = f"{count(self.active_count, 'run')} under way" if self.active_count else "nothing runs"
        queued = (
            f"{self.queue.words} {word('waits', self.queue.count, 'wait')}" if self.queue.count else "nothing waits"
        )
        needs = len(self.all_needs)
        attention = f"{count(needs, 'thing')} {word('needs', needs, 'need')} you" if needs else "nothing needs you"
        return f"{active} · {queued} · {attention}".capitalize()

    @property
    def needs(self) -> Sequence[Need]:
        return self.all_needs[:MOST_NEEDS]

    @property
    def more_needs(self) -> int:
        return len(self.all_needs) - len(self.needs)

    @property
    def more_running(self) -> int:
        return max(0, self.active_count - MOST_RUNNING)

    @property
    def more_lanes(self) -> int:
        return max(0, len(self.week.blocks) - MOST_LANES)


def _next() -> list[Experiment]:
    return Experiment.objects.queue_rows(list(Experiment.objects.waiting().values_list("pk", flat=True)[:NEXT]))


def _queued() -> Queued:
    rows = list(Run.objects.queued().order_by().values_list("kind").annotate(Count("pk"), Sum("expected_s")))
    kinds = {kind: number for kind, number, _ in rows}
    return Queued(sum(kinds.values()), counted(kinds), sum(seconds for *_, seconds in rows))


def _busy_hosts(week: Week) -> Sequence[Host]:
    """Return the hosts with anything in the week, those with the next block first."""
    keys = sorted(week.blocks, key=lambda key: week.blocks[key][0].start)[:MOST_LANES]
    hosts = Host.objects.only("name").in_bulk(keys)
    return [hosts[key] for key in keys if key in hosts]
