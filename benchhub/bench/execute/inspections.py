"""Looks at instances, which people ask for on their pages: log in once from the driver, and see what is there."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future, as_completed
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now

from benchhub.catalog.models import Host, Inspection
from runners.contract import Endpoint
from runners.inspection.look import TIMEOUT_S, Place, Seen, look
from runners.ssh import HostKeyChanged, RemoteFailure, Unreachable

from . import loop
from .steps import connections
from .visits import note_unreached, quarantine, target_of

logger = logging.getLogger(__name__)

VISIT_LEASE = timedelta(seconds=TIMEOUT_S + 30)
LONGEST_ERROR = 2000
UNTRUSTED = "The key of its driver is not approved: look at the key and approve it first."


def look_at_instances() -> int:
    """Look at the instances that people asked to be looked at; return how many. Any worker may do it again."""
    rows = Inspection.objects.select_related("instance", "driver").exclude(asked_at=None)
    due = rows.filter(Q(visit_until=None) | Q(visit_until__lt=Now()))
    claimed = [row for row in due if _claim(row) and _is_allowed(row)]
    looks = {loop.submit(_look(row)): row for row in claimed}
    for future in as_completed(looks):
        _note(looks[future], future)
    return len(claimed)


def _claim(row: Inspection) -> bool:
    """Claim the look until a moment that is written down: who still finds it there afterwards may write."""
    free = Q(visit_until=None) | Q(visit_until__lt=Now())
    rows = Inspection.objects.filter(free, pk=row.pk, asked_at=row.asked_at)
    is_claimed = bool(rows.update(visit_until=Now() + VISIT_LEASE))
    if is_claimed:
        row.refresh_from_db(fields=["visit_until"])
    return is_claimed


def _is_allowed(row: Inspection) -> bool:
    is_trusted = row.driver.trust == Host.Trust.PINNED
    if not is_trusted:
        _end(row, UNTRUSTED)
    return is_trusted


async def _look(row: Inspection) -> Seen:
    instance = row.instance
    endpoint = Endpoint("network", instance.address, instance.port, instance.database, instance.username)
    place = Place(
        endpoint=endpoint,
        bin_directory=instance.bin_directory or newest_programs(row.driver),
        data_directory=instance.data_directory,
        is_here=instance.host_id == row.driver_id,
    )
    async with asyncio.timeout(VISIT_LEASE.total_seconds() - 10):
        return await look(connections(), target_of(row.driver), place, instance.password or None)


def newest_programs(driver: Host) -> str:
    """Return where the newest pgbench of the last probe lies; "" where it saw none."""
    builds = [build for build in driver.facts.get("builds", ()) if build.get("pgbench_version")]
    newest: dict[str, Any] = max(builds, key=lambda build: build.get("version_num") or 0, default={})
    return str(newest.get("bin_directory", ""))


def _claimed(row: Inspection) -> Any:
    return Inspection.objects.filter(pk=row.pk, asked_at=row.asked_at, visit_until=row.visit_until)


def _note(row: Inspection, future: Future[Seen]) -> None:
    """Write what came of a look, unless another was asked for since."""
    try:
        facts = future.result().plain()
        _claimed(row).update(asked_at=None, visit_until=None, contact_error="", facts=facts, seen_at=Now())
    except HostKeyChanged as error:
        quarantine([row.driver_id], error)
        _end(row, UNTRUSTED)
    except (Unreachable, TimeoutError) as error:
        sentence = str(error) or "The driver did not answer in time."
        note_unreached([row.driver_id], sentence)
        _end(row, sentence)
    except (RemoteFailure, ValueError) as error:
        _end(row, str(error))
    except Exception as error:  # what one host answers must not keep the others, nor the runs, waiting
        logger.exception("What %s answered cannot be read or stored", row)
        _end(row, f"BenchHub cannot read what the driver answered: {error!r}.")


def _end(row: Inspection, sentence: str) -> None:
    _claimed(row).update(asked_at=None, visit_until=None, contact_error=sentence[:LONGEST_ERROR].replace("\0", ""))
