"""What needs a person: hosts, experiments that BenchHub paused, runs that failed, and plans that did not recur."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, Q
from django.urls import reverse

from benchhub.analysis.words import count
from benchhub.bench.models import Experiment, Recurrence, Run
from benchhub.bench.models.states import State
from benchhub.catalog.models import Host

MOST_NEEDS = 12
LOOKED_AT = 200  # of the newest experiments: all failures that there ever were are many
LATELY = timedelta(days=7)  # what failed before is in the list of experiments
UNTRUSTED = (Host.Trust.QUARANTINED, Host.Trust.OFFERED)


@dataclass(frozen=True, slots=True)
class Need:
    """What a person should look at: its title and page, why, and since when (None: not known)."""

    title: str
    address: str
    reason: str
    since: datetime | None
    action: str = "Look"


def needs(active: Sequence[Run], now: datetime) -> list[Need]:
    """Return all that needs a person, what stops most first; the queries do not grow with it."""
    return [*_hosts(active), *_paused(), *_recurring(now), *_failed(now)]


def _hosts(active: Sequence[Run]) -> list[Need]:
    """Return hosts that are quarantined, await approval, are paused or were not reached, by us or a run's worker."""
    is_in_trouble = Q(trust__in=UNTRUSTED) | ~Q(contact_error="") | Q(paused_at__isnull=False)
    hosts = Host.objects.filter(is_in_trouble).defer("facts", "private_key").order_by("name")
    needs = {host.pk: _of_host(host) for host in hosts}
    for run in active:
        if hasattr(run, "watch") and run.watch.contact_error:
            host, since = run.system.driver, run.watch.unreachable_since or run.watch.last_contact_at
            needs.setdefault(host.pk, _need(host, run.watch.contact_error, since))
    return list(needs.values())


def _of_host(host: Host) -> Need:
    # Since the first failure, while failures last; otherwise since the host last answered.
    since = host.unreachable_since or host.contacted_at
    if host.trust == Host.Trust.QUARANTINED:
        reason = "Quarantined: its host key changed. Nothing runs there until you approve the new key."
        return _need(host, reason, since, "Compare keys")
    if host.trust == Host.Trust.OFFERED:
        return _need(host, "Its host key waits for your approval.", since, "Compare keys")
    if host.contact_error:
        return _need(host, host.contact_error, since)
    return _need(host, f"Paused: no further run starts there. {host.pause_reason}".strip(), host.paused_at)


def _need(host: Host, reason: str, since: datetime | None, action: str = "Look") -> Need:
    return Need(host.name, reverse("host", args=[host.pk]), reason, since, action)


def _paused() -> Iterator[Need]:
    """Yield experiments that BenchHub paused itself, by a canary or a failure; a person's own pause needs nobody."""
    experiments = Experiment.objects.left().filter(paused_at__isnull=False).exclude(pause_reason="")
    for experiment in experiments.order_by("-paused_at")[:MOST_NEEDS]:
        address = reverse("experiment", args=[experiment.pk])
        yield Need(experiment.name, address, experiment.pause_reason, experiment.paused_at, "Decide")


def _recurring(now: datetime) -> Iterator[Need]:
    """Yield plans that BenchHub does not queue any more, and those that it passed over lately."""
    rows = Recurrence.objects.filter(next_at__isnull=False).select_related("plan")
    for row in rows.exclude(paused_at=None, skips=[]).order_by("-next_at")[:MOST_NEEDS]:
        title, address = row.plan.name, reverse("recurrence", args=[row.plan_id])
        if row.paused_at and row.pause_reason:
            yield Need(title, address, f"Is not queued any more. {row.pause_reason}", row.paused_at)
        elif row.skips and (at := datetime.fromisoformat(row.skips[0]["at"])) > now - LATELY:
            yield Need(title, address, "Passed over, as the time before had not ended.", at)


def _failed(now: datetime) -> Iterator[Need]:
    """Yield experiments, of the newest, with runs that failed or were lost lately and were not run again since."""
    newest = Experiment.objects.order_by("-created_at", "-pk").values_list("pk", flat=True)[:LOOKED_AT]
    # As keys: with a subquery the database goes through what failed lately in all experiments.
    failed = Run.objects.filter(experiment__in=list(newest), state__in=[State.FAILED, State.LOST], set_aside_at=None)
    runs = failed.filter(ended_at__gt=now - LATELY)
    rows = runs.order_by().values("experiment", "experiment__name").annotate(number=Count("pk"), since=Max("ended_at"))
    for row in rows.order_by("-since")[:MOST_NEEDS]:
        reason = f"{count(row['number'], 'run')} failed."
        address = f"{reverse('experiment', args=[row['experiment']])}?state=failed"
        yield Need(row["experiment__name"], address, reason, row["since"])
