"""The calendar of hosts: when each is blocked, may be used, runs, and what is planned for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import cached_property, lru_cache
from zoneinfo import ZoneInfo

from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import Exists, OuterRef, Q, Sum
from django.urls import reverse

from benchhub.analysis.planning.recurring import next_time
from benchhub.analysis.planning.timetable import moment
from benchhub.bench.models import Experiment, Recurrence, Reservation, Run
from benchhub.bench.queue import gates
from benchhub.bench.queue.page import QueuePage
from benchhub.bench.queue.progress import run_seconds_left
from benchhub.catalog.models import Host

DAYS = 7
BLOCKED, ALLOWED, RUNNING, PLANNED, RECURRING = "blocked", "allowed", "running", "planned", "recurring"
EXCLUSIVE = "exclusive"
KINDS = {
    RUNNING: "runs now",
    PLANNED: "planned, as the queue stands",
    RECURRING: "recurs by a rule",
    ALLOWED: "an experiment may run",
    EXCLUSIVE: "reserved for one experiment alone",
    BLOCKED: "blocked",
}
GAP = timedelta(minutes=15)  # runs of one experiment that follow each other so closely are one block
SHORTEST_PERCENT = 0.4  # so that a block of a minute is seen


@dataclass(frozen=True, slots=True, order=True)
class Block:
    """What a host does in a period; `reason` is what a person wrote of it."""

    start: datetime
    end: datetime
    kind: str
    title: str
    address: str
    reason: str = ""

    @property
    def words(self) -> str:
        return KINDS[self.kind]


@dataclass(frozen=True, slots=True)
class Placed:
    """A block on the axis of a week: its left end and its width in per cent."""

    block: Block
    left: str
    width: str


@dataclass(frozen=True, slots=True)
class Lane:
    host: Host
    blocks: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Day:
    day: date
    left: str
    is_today: bool


@dataclass(frozen=True)
class Week:
    """Seven days from `first` on, by the clock of `zone`, seen at `now`."""

    first: date
    zone: ZoneInfo
    now: datetime

    @classmethod
    def ahead(cls, now: datetime, zone: ZoneInfo) -> Week:
        """Return the seven days that begin today."""
        return cls(now.astimezone(zone).date(), zone, now)

    @property
    def last(self) -> date:
        return self.first + timedelta(days=DAYS - 1)

    @cached_property
    def start(self) -> datetime:
        return self._midnight(0)

    @cached_property
    def end(self) -> datetime:
        return self._midnight(DAYS)

    @property
    def days(self) -> list[Day]:
        today = self.now.astimezone(self.zone).date()
        days = [self.first + timedelta(days=number) for number in range(DAYS)]
        return [Day(day, self._percent(self._midnight(number)), day == today) for number, day in enumerate(days)]

    @property
    def now_percent(self) -> str:
        """Return where this moment is; empty where it is in another week."""
        return self._percent(self.now) if self.start <= self.now < self.end else ""

    @cached_property
    def blocks(self) -> Mapping[int, Sequence[Block]]:
        """Return the blocks of the week by host, in their order; the queries do not grow with them."""
        by_host: dict[int, list[Block]] = defaultdict(list)
        for host, block in [*self._reserved(), *self._recurring(), *self._forecast()]:
            if block.start < self.end and block.end > self.start:
                by_host[host].append(block)
        return {host: sorted(blocks) for host, blocks in by_host.items()}

    def lanes(self, hosts: Iterable[Host]) -> list[Lane]:
        return [Lane(host, tuple(self._placed(block) for block in self.blocks.get(host.pk, ()))) for host in hosts]

    def _midnight(self, number: int) -> datetime:
        return moment(datetime.combine(self.first + timedelta(days=number), time()), self.zone)

    def _percent(self, at: datetime) -> str:
        return f"{100 * ((at - self.start) / (self.end - self.start)):.2f}"

    def _placed(self, block: Block) -> Placed:
        start, end = max(block.start, self.start), min(block.end, self.end)
        width = 100 * ((end - start) / (self.end - self.start))
        return Placed(block, self._percent(start), f"{max(SHORTEST_PERCENT, width):.2f}")

    def _reserved(self) -> Iterator[tuple[int, Block]]:
        overlapping = Reservation.objects.filter(period__overlap=DateTimeTZRange(self.start, self.end))
        reservations = list(overlapping)
        for row in reservations:
            if row.host_id is not None:
                address = reverse("host-times", args=[row.host_id])
                yield row.host_id, Block(row.period.lower, row.period.upper, BLOCKED, "blocked", address, row.reason)
        # Whether an experiment still goes on takes long to ask for, and mostly none has times of its own.
        if keys := [row.pk for row in reservations if row.experiment_id]:
            yield from self._of_experiments(keys)

    def _of_experiments(self, keys: Sequence[int]) -> Iterator[tuple[int, Block]]:
        left = Q(experiment__in=Experiment.objects.left().values("pk"))
        reservations = Reservation.objects.filter(pk__in=keys)
        rows = reservations.annotate(is_exclusive=Exists(gates.in_force().filter(pk=OuterRef("pk"))))
        rows = rows.filter(left | Q(is_exclusive=True)).select_related("experiment")
        experiments = _host_keys(row.experiment_id for row in rows)
        for row in rows:
            assert row.experiment is not None
            address = reverse("experiment-times", args=[row.experiment_id])
            kind = EXCLUSIVE if row.is_exclusive else ALLOWED
            block = Block(row.period.lower, row.period.upper, kind, str(row.experiment), address, row.reason)
            yield from ((host, block) for host in experiments.get(row.experiment_id or 0, ()))

    def _recurring(self) -> Iterator[tuple[int, Block]]:
        rows = list(Recurrence.objects.filter(next_at__lt=self.end, paused_at=None).select_related("plan"))
        if not rows or self.end <= self.now:
            return
        hosts, seconds = _host_keys(row.plan_id for row in rows), _seconds(row.plan_id for row in rows)
        for row in rows:
            length = timedelta(seconds=seconds.get(row.plan_id, 0))
            for start in _times(row, self.start, self.end):
                address = reverse("recurrence", args=[row.plan_id])
                block = Block(start, start + length, RECURRING, row.plan.name, address, str(row))
                yield from ((host, block) for host in hosts[row.plan_id])

    def _forecast(self) -> Iterable[tuple[int, Block]]:
        return _forecast(self.now) if self.start <= self.now + timedelta(days=60) and self.end > self.now else ()


def _times(recurrence: Recurrence, start: datetime, end: datetime) -> Iterator[datetime]:
    """Yield when it recurs in the period; the time that comes next is as it is written."""
    at = recurrence.next_at
    if at and at < start:
        at = next_time(recurrence.rule, start)
    while at and at < end:
        yield at
        at = next_time(recurrence.rule, at)


def _host_keys(experiments: Iterable[int | None]) -> dict[int, list[int]]:
    keys = {key for key in experiments if key}
    rows = Experiment.objects.with_host_keys().filter(pk__in=keys) if keys else Experiment.objects.none()
    return {row.pk: row.host_keys for row in rows}  # type: ignore[attr-defined]  # the annotation's name


def _seconds(experiments: Iterable[int]) -> dict[int, int]:
    """Return how long each plan's runs are expected to take."""
    runs = Run.objects.filter(experiment__in=set(experiments)).order_by().values_list("experiment")
    return dict(runs.annotate(Sum("expected_s")))


def _forecast(now: datetime) -> Sequence[tuple[int, Block]]:
    """Return what runs and what the queue would start when; computed anew when a run moves, or a minute has passed.

    So repeats that are added to an older experiment appear up to a minute late.
    """
    # Of the newest experiment with any: an index has those, and none has what is unfinished by its key.
    newest = Run.objects.unfinished().order_by("-experiment", "-pk").values_list("pk", "state")[:1]
    states = tuple(Run.objects.active().order_by("pk").values_list("pk", "state"))
    return _of_queue(now.replace(second=0, microsecond=0), (*newest, *states))


@lru_cache(maxsize=8)
def _of_queue(now: datetime, unfinished: Sequence[tuple[int, str]]) -> Sequence[tuple[int, Block]]:
    if not unfinished:
        return ()
    pairs: list[tuple[int, Block]] = []
    lanes = QueuePage.load(now).lanes
    extras = Run.objects.extras_s({run.experiment_id for lane in lanes for run in lane.active})
    for lane in lanes:
        for run in lane.active:
            end = now + timedelta(seconds=run_seconds_left(run, now, extras))
            pairs += _of_run(run, RUNNING, run.started_at or now, end)
        for row in lane.waiting:
            if row.expected_at:
                pairs += _of_run(row.run, PLANNED, row.expected_at, row.expected_at + gates.needed(row.run))
    return tuple(_merged(pairs))


def _of_run(run: Run, kind: str, start: datetime, end: datetime) -> list[tuple[int, Block]]:
    block = Block(start, end, kind, str(run.experiment), reverse("experiment", args=[run.experiment_id]))
    return [(host, block) for host in run.system.host_keys if host]


def _merged(pairs: Iterable[tuple[int, Block]]) -> Iterator[tuple[int, Block]]:
    """Join the runs of an experiment that follow each other on a host."""
    by_owner: dict[tuple[int, str, str], list[Block]] = defaultdict(list)
    for host, block in sorted(pairs):
        blocks = by_owner[host, block.address, block.kind]
        if blocks and block.start <= blocks[-1].end + GAP:
            blocks[-1] = replace(blocks[-1], end=max(blocks[-1].end, block.end))
        else:
            blocks.append(block)
    return ((host, block) for (host, *_), blocks in by_owner.items() for block in blocks)
