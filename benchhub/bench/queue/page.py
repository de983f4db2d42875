"""The page of the queue: the next runs of each host, why they wait, and when they are expected to start."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import chain, repeat
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Count, Max, Prefetch, Q
from django.http import QueryDict
from django.utils import timezone

from benchhub.analysis.planning.exclusive import Exclusive
from benchhub.analysis.planning.timetable import Period, earliest
from benchhub.bench.models import Event, Experiment, Hold, Reservation, Run, System, Window, Worker
from benchhub.catalog.models import Host
from benchhub.ui.feeds import version_of

from . import exclusive, gates
from .progress import run_seconds_left

LOOKED_AT = 500  # runs of the queue whose start is estimated
CHUNKS = (10, 40, 450)  # so many experiments are asked for their next runs at once
PER_HOST = 5
HOSTS_PER_PAGE, EXPERIMENTS_PER_PAGE = 10, 10
UNKNOWN = datetime.max.replace(tzinfo=UTC)
NO_PERIOD = "Within the next 60 days no period is long enough for it."
NOT_REACHED = "A run is under way there, and its host does not answer: nobody knows when it ends."
REFRESH_S = 15  # so often the page is made anew although nothing was moved: for times, and what runs print
EXPERIMENT_FIELDS = ("name", "rest_s", "design", "occasion_of__plan")
AT_A_STANDSTILL = ("experiment_paused", "host_paused", "untrusted")


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued run: why it does not start now, and when it is expected to.

    None where that depends on a person, on a host that is not reached, or on a worker while none is there.
    """

    run: Run
    reasons: tuple[str, ...]
    expected_at: datetime | None
    is_due: bool


@dataclass(slots=True)
class Lane:
    """A driver host with what runs on it and what waits for it; `queued` counts all that waits."""

    host: Host
    queued: int = 0
    active: list[Run] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)

    @property
    def visible(self) -> list[Waiting]:
        return self.waiting[:PER_HOST]

    @property
    def more(self) -> int:
        return self.queued - len(self.visible)


@dataclass(frozen=True, slots=True)
class Times:
    """Periods by host and by experiment, and exclusive ones. A confined experiment has an entry, if an empty one."""

    blocked: Mapping[int, list[Period]]
    allowed: Mapping[int, list[Period]]
    exclusive: Sequence[Exclusive] = ()


@dataclass(frozen=True)
class QueuePage:
    """The queue at a moment: a lane for each host, and the keys of the experiments that wait, the next one first.

    `is_cut` says whether more runs wait than `lanes` has. Hosts and experiments have pages; `query` says which.
    """

    lanes: Sequence[Lane]
    waiting_keys: Sequence[int]
    is_cut: bool
    query: QueryDict = field(default_factory=QueryDict)

    @classmethod
    def load(cls, now: datetime, query: QueryDict | None = None) -> QueuePage:
        """Read what is under way and what waits, and estimate when each run starts."""
        active = list(
            _with_hosts(Run.objects.active())
            .select_related("experiment__workload", "watch")
            .order_by("started_at", "pk")
        )
        waiting_keys = list(Experiment.objects.waiting().values_list("pk", flat=True))
        keys = next_keys(waiting_keys)
        queued = queued_runs(keys[:LOOKED_AT])
        waiting = forecast(queued, _free_at(active, now), times(queued, now), now)
        if waiting and not Worker.objects.alive().exists():
            waiting = [replace(row, expected_at=None, is_due=False) for row in waiting]
        return cls(_lanes(active, waiting), waiting_keys, len(keys) > LOOKED_AT, query or QueryDict())

    @property
    def lanes_page(self) -> Page[Lane]:
        """Return the lanes that one page shows."""
        return Paginator(self.lanes, HOSTS_PER_PAGE).get_page(self.query.get("page"))

    @cached_property
    def experiments_page(self) -> Page[int]:
        """Return the keys of the experiments that one page shows, in the order in which their runs are taken."""
        return Paginator(self.waiting_keys, EXPERIMENTS_PER_PAGE).get_page(self.query.get("experiments"))

    @cached_property
    def experiments(self) -> list[Experiment]:
        return Experiment.objects.queue_rows(list(self.experiments_page))


def version() -> str:
    """Return what changes with the page of the queue, in five queries however long it is."""
    return version_of(
        Event.objects.aggregate(Max("pk")),
        Run.objects.aggregate(Max("pk")),
        list(Experiment.objects.waiting().values_list("pk", "name", "priority", "paused_at", "pause_reason")),
        list(Host.objects.order_by("pk").values_list("pk", "name", "paused_at", "unreachable_since", "trust")),
        Reservation.objects.aggregate(Count("pk"), Max("pk")),
        int(timezone.now().timestamp()) // REFRESH_S,
    )


def pages_of(query: QueryDict) -> QueryDict:
    """Return the numbers of the pages of hosts and experiments that an address names, without all else."""
    values = {name: query.get(name, "") for name in ("page", "experiments")}
    return QueryDict(urlencode({name: value for name, value in values.items() if value.isdecimal()}))


def queued_runs(keys: Sequence[int]) -> list[Run]:
    """Return these runs of the queue in this order, with their gates.

    What waits for another experiment's end comes after that, whatever its priority.
    """
    places = {key: place for place, key in enumerate(keys)}
    runs = gates.gated(keys).prefetch_related(
        Prefetch("experiment", Experiment.objects.select_related("occasion_of").only(*EXPERIMENT_FIELDS)),
        Prefetch("system", System.objects.select_related("driver", "instance__host").defer(*_heavy(""))),
    )
    return sorted(runs, key=lambda run: (run.gate_occupied, places[run.pk]))


def why_waiting(experiment: Experiment) -> list[str]:
    """Say why the next run of an experiment does not start now; empty where none waits, or nothing keeps it."""
    keys = Run.objects.queued().filter(experiment=experiment).order_by("position").values_list("pk", flat=True)[:1]
    return [sentence for run in queued_runs(list(keys)) for sentence in gates.sentences(run)]


def next_keys(experiments: Sequence[int]) -> list[int]:
    """Return the keys of the next runs, LOOKED_AT and one more if there are as many.

    Experiment by experiment, as the whole queue may be long, and is not sorted; some experiments have no run in it.
    """
    keys: list[int] = []
    rest, sizes = list(experiments), chain(CHUNKS, repeat(LOOKED_AT))
    while rest and len(keys) <= LOOKED_AT:
        size = next(sizes)
        chunk, rest = rest[:size], rest[size:]
        runs_by_key = dict(Experiment.objects.filter(pk__in=chunk).next_runs(LOOKED_AT + 1))
        keys += (run for experiment in chunk for run in runs_by_key.get(experiment, ()))
    return keys[: LOOKED_AT + 1]


def _with_hosts(runs: Any) -> Any:
    related = ("experiment", "system__driver", "system__instance__host")
    return runs.select_related(*related).defer("spec", *_heavy("system__"))


def _heavy(prefix: str) -> list[str]:
    """Return the fields of a system's hosts that no page of the queue shows."""
    hosts = ("driver", "instance__host")
    return [f"{prefix}{host}__{name}" for host in hosts for name in ("facts", "private_key")]


def _free_at(active: Collection[Run], now: datetime) -> dict[str, datetime]:
    """Return by resource when it is expected to be free again, after the rest."""
    rests = Hold.objects.filter(run=None).values_list("resource", "free_at")
    free = {resource: free_at for resource, free_at in rests if free_at}
    extras = Run.objects.extras_s({run.experiment_id for run in active})
    for run in active:
        if run.is_out_of_sight:
            free |= dict.fromkeys(gates.resources(run.system), UNKNOWN)
            continue
        time_left = timedelta(seconds=run_seconds_left(run, now, extras) + run.experiment.rest_s)
        free |= dict.fromkeys(gates.resources(run.system), now + time_left)
    return free


def times(runs: Sequence[Run], now: datetime) -> Times:
    experiments = {run.experiment_id for run in runs}
    blocked: dict[int, list[Period]] = defaultdict(list)
    allowed: dict[int, list[Period]] = {
        pk: [] for pk in Window.objects.filter(experiment__in=experiments).values_list("experiment", flat=True)
    }
    rows = Reservation.objects.filter(Q(host__isnull=False, period__endswith__gt=now) | Q(experiment__in=experiments))
    for row in rows:
        period = Period(row.period.lower, row.period.upper)
        if row.host_id:
            blocked[row.host_id].append(period)
        elif row.experiment_id:
            allowed.setdefault(row.experiment_id, []).append(period)
    return Times(blocked, allowed, exclusive.in_force(now) if runs else ())


def forecast(queued: Sequence[Run], free: dict[str, datetime], times: Times, now: datetime) -> list[Waiting]:
    """Place each run, in the order of the queue, at the first moment when its hosts are free and it may run."""
    places, drivers, rows = Places(free, times, now), set(), []
    for run in queued:
        rows.append(places.take(run, is_first=run.system.driver_id not in drivers))
        drivers.add(run.system.driver_id)
    return rows


@dataclass
class Places:
    """When each resource is free again, as runs take their places one after the other."""

    free: dict[str, datetime]
    times: Times
    now: datetime
    # Many runs are of few systems, and what a system needs is named in texts.
    resources: dict[int, list[str]] = field(default_factory=dict)
    reserved: dict[tuple[int, int], list[Period]] = field(default_factory=dict)
    lines: dict[int, dict[str, datetime]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Give relatives that have hosts to themselves places of their own: what others take is not in their way."""
        self.holders = {name for row in self.times.exclusive for name in row.family}
        self.own_free = {name: dict(self.free) for name in self.holders}

    def take(self, run: Run, *, is_first: bool) -> Waiting:
        """Place the run; `is_first` tells whether none before it has the same driver, so that it is told of others."""
        resources, free = self._resources(run), self._free(run)
        is_out_of_sight = any(free.get(key) == UNKNOWN for key in resources)
        start = None if is_out_of_sight or _stands_still(run) else self._start(run, resources)
        if start is not None:
            end = start + gates.needed(run) + timedelta(seconds=run.experiment.rest_s)
            free |= dict.fromkeys(resources, end)
        reasons = gates.sentences(run, without=() if is_first else gates.CONTENTION)
        if start is None and not _stands_still(run):
            reasons.append(NOT_REACHED if is_out_of_sight else NO_PERIOD)
        return Waiting(run, tuple(reasons), start, is_due=start is not None and start <= self.now)

    def _resources(self, run: Run) -> list[str]:
        if run.system_id not in self.resources:
            self.resources[run.system_id] = gates.resources(run.system)
        return self.resources[run.system_id]

    def _free(self, run: Run) -> dict[str, datetime]:
        if not self.holders:
            return self.free
        if run.experiment_id not in self.lines:
            names = sorted(exclusive.family(run.experiment) & self.holders)
            self.lines[run.experiment_id] = self.own_free[names[0]] if names else self.free
        return self.lines[run.experiment_id]

    def _start(self, run: Run, resources: Sequence[str]) -> datetime | None:
        free = self._free(run)
        free_at = max([self.now, *(free[key] for key in resources if key in free)])
        blocked = [period for host in gates.hosts(run) for period in self.times.blocked.get(host.pk, ())]
        blocked += self._reserved(run, resources)
        return earliest(free_at, gates.needed(run), self.times.allowed.get(run.experiment_id), blocked)

    def _reserved(self, run: Run, resources: Sequence[str]) -> list[Period]:
        """Return the exclusive periods of others that keep the run out, at the longest."""
        if not self.times.exclusive:
            return []
        key = (run.experiment_id, run.system_id)
        if key not in self.reserved:
            relatives = exclusive.family(run.experiment)
            rows = (row for row in self.times.exclusive if row.keeps_out(relatives, resources))
            self.reserved[key] = [row.period for row in rows]
        return self.reserved[key]


def _stands_still(run: Run) -> bool:
    return any(getattr(run, f"gate_{name}") for name in AT_A_STANDSTILL)


def _lanes(active: Iterable[Run], waiting: Iterable[Waiting]) -> list[Lane]:
    """Return a lane per host with runs under way or waiting, in the order of the queue, and per host in trouble."""
    lanes: dict[int, Lane] = {}
    for run in active:
        lanes.setdefault(run.system.driver_id, Lane(run.system.driver)).active.append(run)
    for row in waiting:
        lanes.setdefault(row.run.system.driver_id, Lane(row.run.system.driver)).waiting.append(row)
    in_trouble = Q(paused_at__isnull=False) | Q(unreachable_since__isnull=False) | Q(trust=Host.Trust.QUARANTINED)
    for host in Host.objects.filter(in_trouble).defer("facts", "private_key").order_by("name"):
        lanes.setdefault(host.pk, Lane(host))
    _count(lanes)
    return list(lanes.values())


def _count(lanes: Mapping[int, Lane]) -> None:
    counts = dict(Run.objects.queued().order_by().values_list("system").annotate(Count("pk")))
    for system, host in System.objects.filter(pk__in=counts, driver__in=lanes).values_list("pk", "driver"):
        lanes[host].queued += counts[system]
