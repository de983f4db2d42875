"""Visits to hosts: what people ask of them from the pages, and their facts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future, as_completed
from datetime import timedelta
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from benchhub.accounts import audit
from benchhub.bench.models import Attempt, Run
from benchhub.bench.queue import exclusive
from benchhub.catalog.models import Host, SourceBuild
from benchhub.catalog.models.moments import may_visit
from runners import job, probe
from runners.readings import short
from runners.ssh import HostKeyChanged, RemoteFailure, Target, Unreachable, offered_host_key

from . import loop
from .connections import connections

logger = logging.getLogger(__name__)

PROBE_TIMEOUT_S = 120
REACHED: dict[str, Any] = {"contact_error": "", "unreachable_since": None}
VISIT_LEASE, PUT_OFF_FOR = timedelta(seconds=150), timedelta(seconds=15)


def target_of(host: Host) -> Target:
    """Return where and as whom to log in. Raises ImproperlyConfigured where BenchHub cannot read its own key."""
    return Target(
        address=host.address,
        port=host.port,
        username=host.username,
        private_key=host.private_key,
        host_key=host.host_key,
    )


def place_of(run: Run, attempt: Attempt) -> job.Attempt:
    """Return where the attempt lies on the run's driver: where it began, wherever others begin there by now."""
    work_directory = attempt.work_directory or run.system.driver.work_directory  # of an older release it has none
    return job.Attempt(str(run.uuid), attempt.number, work_directory)


def visit_hosts() -> int:
    """Answer what people asked of hosts (Host.ask); return how many were visited. Any worker may do it again."""
    due = list(Host.objects.exclude(wanted="").filter(may_visit()))
    refusals = exclusive.visit_refusals(due, timedelta(seconds=PROBE_TIMEOUT_S))
    claimed = [host for row in due if (host := _claim_visit(row))]
    visited = [host for host in claimed if _is_allowed(host) and _is_free(host, refusals.get(host.pk, ""))]
    visits = {loop.submit(_visit(host, folders_of(host))): host for host in visited}
    for future in as_completed(visits):
        _note_visit(visits[future], future)
    return len(visited)


def _claim_visit(host: Host) -> Host | None:
    """Claim the visit until a moment that is written down: who still finds it there afterwards may write.

    Return the host as it is by now; None where another worker was first.
    """
    unclaimed = Host.objects.filter(may_visit(), pk=host.pk, wanted=host.wanted)
    return Host.objects.get(pk=host.pk) if unclaimed.update(visit_until=Now() + VISIT_LEASE) else None


def _is_allowed(host: Host) -> bool:
    """Refuse, with a note at the host, to visit one whose key nobody approved; looking at the key sends nothing."""
    if host.wanted == Host.Wanted.KEY or host.trust == Host.Trust.PINNED:
        return True
    error = "Its host key is not approved yet: look at the key and approve it first."
    Host.objects.filter(pk=host.pk).update(wanted="", visit_until=None, contact_error=error)
    return False


def _is_free(host: Host, refusal: str) -> bool:
    """Put the visit off, with a note at the host, while an experiment has it to itself; a look at the key may be."""
    if host.wanted == Host.Wanted.KEY:
        return True
    if refusal:
        Host.objects.filter(pk=host.pk, wanted=host.wanted).update(**put_off(refusal))
    return not refusal


def put_off(refusal: str) -> dict[str, Any]:
    """Return the fields of a visit that is tried again in a moment, and why it waits."""
    return {"visit_until": Now() + PUT_OFF_FOR, "contact_error": refusal}


def folders_of(host: Host) -> list[str]:
    """Return the folders where a probe is to look for PostgreSQL beside the usual places."""
    folders = {instance.bin_directory for instance in host.instances.all() if instance.bin_directory}
    built = host.source_builds.filter(state=SourceBuild.State.BUILT).values_list("facts__bin_directory", flat=True)
    return sorted(folders | set(host.bin_directories.split()) | {folder for folder in built if folder})


async def _visit(host: Host, folders: list[str]) -> Any:
    async with asyncio.timeout(PROBE_TIMEOUT_S):
        if host.wanted == Host.Wanted.KEY:
            return await offered_host_key(host.address, host.port)
        return await probe.probe(connections(), target_of(host), prefixes=folders)


def _note_visit(host: Host, future: Future[Any]) -> None:
    """Write what came of a visit, unless it was asked for again, the host edited or the visit claimed since."""
    visited = Host.objects.filter(pk=host.pk, wanted=host.wanted, visit_until=host.visit_until, host_key=host.host_key)
    try:
        with transaction.atomic():
            changes = _changes(host, future)
            if "facts" in changes:
                changes["facts"] = with_builds(host.pk, changes["facts"])
            is_noted = visited.update(wanted="", visit_until=None, **changes)
            if is_noted and changes.get("trust") == Host.Trust.QUARANTINED != host.trust:
                audit.note_changed_key(host.name, f"offered: {changes['offered_host_key']}")
    except (DatabaseError, ValueError) as error:  # a text or number that PostgreSQL does not take
        logger.exception("What %s answered cannot be stored", host)
        sentence = f"PostgreSQL cannot store what the host answered ({type(error).__name__}): the log has it."
        visited.update(wanted="", visit_until=None, **{**REACHED, "contact_error": sentence})


def _changes(host: Host, future: Future[Any]) -> dict[str, Any]:
    try:
        answer = future.result()
    except HostKeyChanged as error:
        return {"trust": Host.Trust.QUARANTINED, "offered_host_key": error.offered, "contact_error": str(error)}
    except (Unreachable, TimeoutError) as error:
        return _unreached_fields(str(error) or "The host did not answer in time.")
    except (RemoteFailure, ValueError) as error:
        return {**REACHED, "contact_error": str(error)}
    except ImproperlyConfigured as error:
        return {"contact_error": f"Nothing was sent: BenchHub's key for it cannot be read. {error}"}
    except Exception as error:  # what one host answers must not keep the others, nor the runs, waiting
        logger.exception("What %s answered cannot be read", host)
        return {**REACHED, "contact_error": short(f"BenchHub cannot read what the host answered: {error!r}.")}
    fields = _key_fields(host, answer) if host.wanted == Host.Wanted.KEY else {"facts": answer, "facts_at": Now()}
    return {**REACHED, "contacted_at": Now(), **fields}


def _key_fields(host: Host, key: str) -> dict[str, Any]:
    """Tell what a host's offered key means: the pinned one again, the first one, or another one than was approved."""
    if host.host_key and key == host.host_key:
        return {"trust": Host.Trust.PINNED, "offered_host_key": ""}
    return {"trust": Host.Trust.QUARANTINED if host.host_key else Host.Trust.OFFERED, "offered_host_key": key}


def _unreached_fields(sentence: str) -> dict[str, Any]:
    """Return the fields of a host that is away: since when stays as it was at the first failure."""
    return {"contact_error": sentence, "unreachable_since": Coalesce(F("unreachable_since"), Now())}


def note_unreached(hosts: Collection[int], sentence: str) -> None:
    Host.objects.filter(pk__in=hosts).update(**_unreached_fields(sentence))


def note_reached(hosts: Collection[int]) -> None:
    Host.objects.filter(pk__in=hosts, unreachable_since__isnull=False).update(**REACHED, contacted_at=Now())


def quarantine(hosts: Collection[int], error: HostKeyChanged) -> None:
    """Trust hosts no more, unless a person has approved another key than the one that was compared."""
    compared = Host.objects.filter(pk__in=hosts, host_key=error.target.host_key)
    names = list(compared.exclude(trust=Host.Trust.QUARANTINED).values_list("name", flat=True))
    compared.update(trust=Host.Trust.QUARANTINED, offered_host_key=error.offered)
    for name in names:
        audit.note_changed_key(name, f"offered: {error.offered}")


def with_builds(host: int, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a probe saw, with what was built or removed while it looked; the caller's transaction has the host.

    A probe takes at most PROBE_TIMEOUT_S seconds: of what was built before, it knows better than the warehouse.
    """
    Host.lock([host])
    builds = SourceBuild.objects.filter(host=host).exclude(facts={})
    gone = set(builds.exclude(state=SourceBuild.State.BUILT).values_list("facts__bin_directory", flat=True))
    there = [build for build in facts.get("builds", []) if build.get("bin_directory") not in gone]
    folders = {build.get("bin_directory") for build in there}
    newest = builds.filter(state=SourceBuild.State.BUILT, ended_at__gt=Now() - timedelta(seconds=PROBE_TIMEOUT_S))
    added = [build for build in newest.values_list("facts", flat=True) if build["bin_directory"] not in folders]
    return {**facts, "builds": [*there, *added]} if gone or added else dict(facts)


def probe_host(host: Host, bin_directories: Iterable[str] = ()) -> None:
    """Store the facts of a host as they are now. Raises what the connection raises."""
    probing = probe.probe(connections(), target_of(host), prefixes=list(bin_directories))
    facts = loop.submit(probing).result(timeout=PROBE_TIMEOUT_S)
    with transaction.atomic():
        host.facts, host.facts_at = with_builds(host.pk, facts), timezone.now()
        host.save(update_fields=["facts", "facts_at"])
