"""The home page: runs under way and next, the latest results, hosts in trouble; at the start, the first steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet, Sum
from django.utils import timezone

from benchhub.bench.models import Experiment, Result, Run
from benchhub.bench.queue.progress import counted, run_seconds_left
from benchhub.catalog.models import Hardware, Host, Instance, Workload

NEXT = 8
LATEST = 10


@dataclass(frozen=True, slots=True)
class Now:
    """A run under way, and the estimate of the seconds left."""

    run: Run
    left_s: float


@dataclass(frozen=True, slots=True)
class Trouble:
    """A host that needs a person: why, and since when (None: not known)."""

    host: Host
    reason: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Queued:
    """The queued runs: how many, in words too, and their seconds of load."""

    count: int
    words: str
    seconds: float


@dataclass(frozen=True, slots=True)
class FirstStep:
    title: str
    url_name: str
    is_done: bool


@dataclass(frozen=True)
class HomePage:
    """The home page: `now` and `next` of the queue, the latest results, hosts in trouble, or else the first steps."""

    now: Sequence[Now]
    next: Sequence[Run]
    queue: Queued
    latest: Sequence[Result]
    troubles: Sequence[Trouble]
    first_steps: Sequence[FirstStep]

    @classmethod
    def load(cls) -> HomePage:
        """Read what the page shows; the first steps only while there is no experiment."""
        active, now = list(_active()), timezone.now()
        waiting = Run.objects.queued().select_related("experiment", "system__driver")
        queued = list(waiting.next_first().defer("spec")[:NEXT])
        has_experiments = bool(active or queued) or Experiment.objects.exists()
        return cls(
            now=[Now(run, run_seconds_left(run, now)) for run in active],
            next=queued,
            queue=_queued(),
            latest=list(_latest()[:LATEST]),
            troubles=troubles(active),
            first_steps=[] if has_experiments else first_steps(),
        )


def _active() -> QuerySet[Run]:
    return (
        Run.objects.active()
        .select_related("experiment__workload", "system__driver", "watch")
        .order_by("started_at", "pk")
    )


def _queued() -> Queued:
    rows = list(Run.objects.queued().order_by().values_list("kind").annotate(Count("pk"), Sum("expected_s")))
    kinds = {kind: count for kind, count, _ in rows}
    return Queued(sum(kinds.values()), counted(kinds), sum(seconds for *_, seconds in rows))


def _latest() -> QuerySet[Result]:
    points = Result.objects.filter(run__kind=Run.Kind.MEASURE, run__set_aside_at=None)
    return points.select_related("run__system", "run__experiment").order_by("-parsed_at", "-pk")


def troubles(active: Sequence[Run]) -> list[Trouble]:
    """Return hosts that are quarantined, await approval or could not be reached, by a question or a run's worker."""
    untrusted = [Host.Trust.QUARANTINED, Host.Trust.OFFERED]
    hosts = Host.objects.filter(Q(trust__in=untrusted) | ~Q(contact_error="")).order_by("name")
    # Since the first failure, while failures last; otherwise since the host last answered.
    trouble_by_host = {
        host.pk: Trouble(host, _reason(host), host.unreachable_since or host.contacted_at)
        for host in hosts.defer("facts", "private_key")
    }
    for run in active:
        if hasattr(run, "watch") and run.watch.contact_error:
            host = run.system.driver
            since = run.watch.unreachable_since or run.watch.last_contact_at
            trouble_by_host.setdefault(host.pk, Trouble(host, run.watch.contact_error, since))
    return list(trouble_by_host.values())


def _reason(host: Host) -> str:
    if host.trust == Host.Trust.QUARANTINED:
        return "Quarantined: its host key changed. Nothing runs there until you approve the new key."
    if host.trust == Host.Trust.OFFERED:
        return "Its host key waits for your approval."
    return host.contact_error


def first_steps() -> list[FirstStep]:
    return [
        FirstStep("Add the host of the PostgreSQL server, install BenchHub's public key there, probe it", "hosts",
                  Host.objects.filter(trust=Host.Trust.PINNED, facts_at__isnull=False).exists()),
        FirstStep("Say what hardware it is, and what it cost", "hardware-list", Hardware.objects.current().exists()),
        FirstStep("Add the PostgreSQL instance to be measured", "instances", Instance.objects.current().exists()),
        FirstStep("Look at the workloads, or add one of your own", "workloads", Workload.objects.current().exists()),
        FirstStep("Plan the first experiment", "experiment-new", False),
    ]  # fmt: skip
