"""Visits to clusters of BenchHub's own between runs: what people ask of them from the pages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import Future, as_completed
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from benchhub.bench.models import Run
from benchhub.bench.queue import exclusive
from benchhub.catalog.instances.clusters.settings import initdb_options
from benchhub.catalog.models import Cluster, ClusterParameters, DataCopy, DataSet, Host, Instance
from benchhub.catalog.models.moments import may_visit
from runners import contract
from runners.clusters.visit import HostBusyError, Sight, visit
from runners.ssh import HostKeyChanged, RemoteFailure, Unreachable

from . import loop
from .connections import connections
from .visits import note_unreached, put_off, quarantine, target_of

logger = logging.getLogger(__name__)

VISIT_LEASE, LONGEST_VISIT, BUSY_FOR = timedelta(seconds=180), timedelta(seconds=170), timedelta(seconds=15)
LONGEST_ERROR = 2000
BUSY = "A run or a build is under way on the host: it is done when that has ended."
NEEDED = "Runs on it wait or are under way: it is removed when they have ended, or are cancelled."
UNTRUSTED = "The key of its host is not approved: look at the key and approve it first."


def visit_clusters() -> int:
    """Do what was asked of clusters (Cluster.ask); return how many were visited. Any worker may do it again."""
    rows = Cluster.objects.select_related("instance__host", "instance__build").exclude(wanted="")
    due = list(rows.filter(may_visit()))
    refusals = exclusive.visit_refusals((row.instance.host for row in due if row.instance.host), LONGEST_VISIT)
    clusters = [cluster for cluster in due if _claim(cluster) and _is_allowed(cluster) and _is_free(cluster, refusals)]
    visits = {loop.submit(_visit(cluster)): cluster for cluster in clusters}
    for future in as_completed(visits):
        _note(visits[future], future)
    return len(clusters)


def _claim(cluster: Cluster) -> bool:
    """Claim the visit until a moment that is written down: who still finds it there afterwards may write."""
    rows = Cluster.objects.filter(may_visit(), pk=cluster.pk, wanted=cluster.wanted)
    is_claimed = bool(rows.update(visit_until=Now() + VISIT_LEASE))
    if is_claimed:
        cluster.refresh_from_db(fields=["visit_until", "wanted"])
    return is_claimed


def _is_allowed(cluster: Cluster) -> bool:
    host = cluster.instance.host
    refusal = UNTRUSTED if host is None or host.trust != Host.Trust.PINNED else ""
    if cluster.wanted == Cluster.Wanted.REMOVE and is_needed(cluster):
        refusal = NEEDED
    if refusal:
        _claimed(cluster).update(wanted="", visit_until=None, contact_error=refusal)
        return False
    return True


def _is_free(cluster: Cluster, refusals: Mapping[int, str]) -> bool:
    """Put the visit off while an experiment has the host to itself."""
    refusal = refusals.get(cluster.instance.host_id or 0, "")
    if refusal:
        _claimed(cluster).update(**put_off(refusal))
    return not refusal


def is_needed(cluster: Cluster) -> bool:
    return Run.objects.unfinished().filter(system__instance=cluster.instance_id).exists()


async def _visit(cluster: Cluster) -> Sight:
    instance, host = cluster.instance, cluster.instance.host
    if host is None:
        raise ValueError(UNTRUSTED)
    place = contract.Cluster(
        folder=cluster.folder,
        mark=cluster.mark,
        bin_directory=instance.bin_directory,
        database=instance.database,
        initdb_options=initdb_options(cluster),
    )
    async with asyncio.timeout(LONGEST_VISIT.total_seconds()):
        purpose: Any = str(cluster.wanted)
        return await visit(connections(), target_of(host), place, host.work_directory, purpose, instance.port)


def _hosts(cluster: Cluster) -> list[int]:
    return [cluster.instance.host_id] if cluster.instance.host_id else []


def _claimed(cluster: Cluster) -> Any:
    return Cluster.objects.filter(pk=cluster.pk, wanted=cluster.wanted, visit_until=cluster.visit_until)


def _note(cluster: Cluster, future: Future[Sight]) -> None:
    """Write what came of a visit, unless something else was asked for since."""
    try:
        _store(cluster, future.result())
    except HostBusyError:
        _claimed(cluster).update(visit_until=Now() + BUSY_FOR, contact_error=BUSY)
    except HostKeyChanged as error:
        quarantine(_hosts(cluster), error)
        _end(cluster, UNTRUSTED)
    except (Unreachable, TimeoutError) as error:
        sentence = str(error) or "The host did not answer in time."
        note_unreached(_hosts(cluster), sentence)
        _end(cluster, sentence)
    except (RemoteFailure, ValueError) as error:
        _end(cluster, str(error))
    except Exception as error:  # what one host answers must not keep the others, nor the runs, waiting
        logger.exception("What %s answered cannot be read or stored", cluster)
        _end(cluster, f"BenchHub cannot read what the host answered: {error!r}.")


def _end(cluster: Cluster, sentence: str) -> None:
    _claimed(cluster).update(wanted="", visit_until=None, contact_error=sentence[:LONGEST_ERROR].replace("\0", ""))


@transaction.atomic
def _store(cluster: Cluster, sight: Sight) -> None:
    facts = {
        "is_there": sight.is_there,
        "is_running": sight.is_running,
        "size_bytes": sight.size_bytes,
        "settings": list(sight.settings),
        "last_start": sight.last_start,
    }
    changes: dict[str, Any] = {"folder": sight.folder, "facts": facts, "seen_at": Now()}
    if cluster.wanted == Cluster.Wanted.MAKE:
        changes |= {"made_at": Now(), "removed_at": None}
    elif cluster.wanted == Cluster.Wanted.REMOVE:
        changes |= {"made_at": None, "removed_at": Now()}
    purpose = cluster.wanted
    if not _claimed(cluster).update(wanted="", visit_until=None, contact_error="", **changes):
        return
    copies = DataCopy.objects.filter(cluster=cluster)
    copies.exclude(key__in=sight.copies).update(is_there=False)
    copies.filter(key__in=sight.copies).update(is_there=True)
    if purpose == Cluster.Wanted.MAKE:
        _store_make(cluster, sight)
    elif purpose == Cluster.Wanted.REMOVE:
        DataSet.objects.filter(instance=cluster.instance_id, replaced_at=None).update(replaced_at=Now())
        Instance.objects.filter(pk=cluster.instance_id).retire()


def _store_make(cluster: Cluster, sight: Sight) -> None:
    """Tell the instance where it lies, and the cluster which settings it knows."""
    place = {"address": sight.folder, "data_directory": f"{sight.folder}/data"}
    Instance.objects.filter(pk=cluster.instance_id).update(**place)
    described = {"parameters": dict(sight.parameters), "libraries": list(sight.libraries)}
    ClusterParameters.objects.update_or_create(cluster=cluster, defaults=described)
