"""Looking at hosts: what people ask of them from the pages, and their facts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import Future, as_completed
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from benchhub.catalog.models import Host
from runners import probe
from runners.ssh import HostKeyChanged, RemoteFailure, Target, Unreachable, offered_host_key

from . import loop
from .steps import connections

PROBE_TIMEOUT_S = 120
VISIT_LEASE = timedelta(seconds=150)


def target_of(host: Host) -> Target:
    return Target(
        address=host.address,
        port=host.port,
        username=host.username,
        private_key=host.private_key,
        host_key=host.host_key,
    )


def visit_hosts() -> int:
    """Answer what people asked of hosts (Host.ask); returns how many were visited. Any worker may do it again."""
    due = Host.objects.exclude(wanted="").filter(Q(visit_until=None) | Q(visit_until__lt=Now()))
    asked = [(host, host.wanted) for host in due if _claim_visit(host) and _is_allowed(host)]
    visits = {loop.submit(_visit(target_of(host), wanted, folders_of(host))): (host, wanted) for host, wanted in asked}
    for future in as_completed(visits):
        _note_visit(*visits[future], future)
    return len(asked)


def _claim_visit(host: Host) -> bool:
    free = Q(visit_until=None) | Q(visit_until__lt=Now())
    return bool(Host.objects.filter(free, pk=host.pk, wanted=host.wanted).update(visit_until=Now() + VISIT_LEASE))


def _is_allowed(host: Host) -> bool:
    """Nothing is sent to a host whose key nobody approved; looking at the key sends nothing."""
    if host.wanted == Host.Wanted.KEY or host.trust == Host.Trust.PINNED:
        return True
    error = "Its host key is not approved yet: look at the key and approve it first."
    Host.objects.filter(pk=host.pk).update(wanted="", visit_until=None, contact_error=error)
    return False


def folders_of(host: Host) -> list[str]:
    """Where a probe is to look for PostgreSQL beside the usual places."""
    known = {instance.bin_directory for instance in host.instances.all() if instance.bin_directory}
    return sorted(known | set(host.bin_directories.split()))


async def _visit(target: Target, wanted: str, folders: list[str]) -> Any:
    async with asyncio.timeout(PROBE_TIMEOUT_S):
        if wanted == Host.Wanted.KEY:
            return await offered_host_key(target.address, target.port)
        return await probe.probe(connections(), target, prefixes=folders)


def _note_visit(host: Host, wanted: str, future: Future[Any]) -> None:
    seen: dict[str, Any] = {"contact_error": "", "contacted_at": Now()}
    try:
        answer = future.result()
        seen |= _offered(host, answer) if wanted == Host.Wanted.KEY else {"facts": answer, "facts_at": Now()}
    except HostKeyChanged as error:
        seen = {"trust": Host.Trust.QUARANTINED, "offered_host_key": error.offered, "contact_error": str(error)}
    except (Unreachable, RemoteFailure, TimeoutError, ValueError) as error:
        seen = {"contact_error": str(error) or "The host did not answer in time."}
    Host.objects.filter(pk=host.pk, wanted=wanted).update(wanted="", visit_until=None, **seen)


def _offered(host: Host, key: str) -> dict[str, Any]:
    """What a host's offered key means: the pinned one again, the first one, or another one than was approved."""
    if host.host_key and key == host.host_key:
        return {"trust": Host.Trust.PINNED, "offered_host_key": ""}
    return {"trust": Host.Trust.QUARANTINED if host.host_key else Host.Trust.OFFERED, "offered_host_key": key}


def probe_host(host: Host, bin_directories: Iterable[str] = ()) -> None:
    """Store the facts of a host as found now; raises what the connection raises."""
    found = probe.probe(connections(), target_of(host), prefixes=list(bin_directories))
    host.facts, host.facts_at = loop.submit(found).result(timeout=PROBE_TIMEOUT_S), timezone.now()
    host.save(update_fields=["facts", "facts_at"])
