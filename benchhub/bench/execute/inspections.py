"""Look at instances from their drivers, as people ask on the pages: a log-in as a run would make it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import Future, as_completed
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError
from django.db.models import QuerySet
from django.db.models.functions import Now

from benchhub.bench.plan.clients import chosen_client
from benchhub.bench.queue import exclusive
from benchhub.catalog.instances.poolers import asked_pooler
from benchhub.catalog.models import Host, Inspection, Instance
from benchhub.catalog.models.moments import may_visit
from runners.contract import Endpoint
from runners.inspection.answer import Seen
from runners.inspection.look import Place, look
from runners.ssh import Connections, HostKeyChanged, RemoteFailure, Unreachable

from . import loop
from .connections import connections
from .visits import note_reached, note_unreached, put_off, quarantine, target_of

logger = logging.getLogger(__name__)

VISIT_LEASE, LONGEST_LOOK = timedelta(seconds=90), timedelta(seconds=80)
LONGEST_ERROR = 2000
NOTHING_SEEN: dict[str, Any] = {"sight": None, "parameters": {}, "seen_at": None}


def visit_inspections() -> int:
    """Take the looks that were asked for (Inspection.ask); return how many. Any worker may do it again."""
    rows = Inspection.objects.filter(is_wanted=True).select_related("instance__build", "instance__host", "driver")
    due = list(rows.filter(may_visit()))
    refusals = exclusive.visit_refusals((host for row in due for host in _hosts(row)), LONGEST_LOOK)
    inspections = [row for row in due if _claim(row) and _is_free(row, refusals)]
    looks = {loop.submit(_look(connections(), row)): row for row in inspections}
    for future in as_completed(looks):
        _note(looks[future], future)
    return len(inspections)


def look_now(inspection: Inspection) -> None:
    """Take the look at once, with connections of its own, and write into the object alone what came of it."""
    for name, value in _changes(inspection, lambda: asyncio.run(_look_alone(inspection))).items():
        setattr(inspection, name, value)


def _claim(inspection: Inspection) -> bool:
    rows = Inspection.objects.filter(may_visit(), pk=inspection.pk, is_wanted=True, driver=inspection.driver_id)
    is_claimed = bool(rows.update(visit_until=Now() + VISIT_LEASE))
    if is_claimed:
        inspection.refresh_from_db(fields=["visit_until"])
    return is_claimed


def _hosts(inspection: Inspection) -> list[Host]:
    return [host for host in (inspection.driver, inspection.instance.host) if host]


def _is_free(inspection: Inspection, refusals: Mapping[int, str]) -> bool:
    """Put the look off while an experiment has the driver or the server's host to itself."""
    refusal = next((refusals[host.pk] for host in _hosts(inspection) if host.pk in refusals), "")
    if refusal:
        Inspection.objects.filter(pk=inspection.pk, is_wanted=True).update(**put_off(refusal))
    return not refusal


async def _look(over: Connections, inspection: Inspection) -> Seen:
    """Return what the driver sees of the instance at one log-in.

    Raises LookupError where it cannot begin, and as `runners.inspection.look`.
    """
    instance, driver = inspection.instance, inspection.driver
    if driver.trust != Host.Trust.PINNED:
        raise LookupError(f"The key of {driver} is not approved: look at it and approve it.")
    endpoint = Endpoint("network", instance.address, instance.port, instance.database, instance.username)
    is_here = instance.host_id == driver.pk
    programs = instance.bin_directory if is_here else chosen_client([driver], "")["bin_directory"]
    is_granted = is_here and instance.grant != Instance.Grant.NONE
    place = Place(
        endpoint,
        programs,
        instance.data_directory,
        is_here=is_here,
        is_granted=is_granted,
        restart=instance.restart_words,
        pooler=asked_pooler(instance),
    )
    async with asyncio.timeout(LONGEST_LOOK.total_seconds()):
        return await look(over, target_of(driver), place, instance.password or None)


async def _look_alone(inspection: Inspection) -> Seen:
    own = Connections()
    try:
        return await _look(own, inspection)
    finally:
        await own.close()


def _note(inspection: Inspection, future: Future[Seen]) -> None:
    """Write what came of a look, unless it was asked for again or the driver changed since."""
    claimed = _claimed(inspection)
    try:
        claimed.update(is_wanted=False, visit_until=None, **_changes(inspection, future.result))
    except (DatabaseError, ValueError) as error:  # a text or number that PostgreSQL does not take
        logger.exception("What was seen of %s cannot be stored", inspection.instance)
        sentence = f"PostgreSQL cannot store what was seen ({type(error).__name__}): the log has it."
        claimed.update(is_wanted=False, visit_until=None, contact_error=sentence)


def _claimed(inspection: Inspection) -> QuerySet[Inspection]:
    same = {"pk": inspection.pk, "driver": inspection.driver_id, "visit_until": inspection.visit_until}
    return Inspection.objects.filter(is_wanted=True, **same)


def _changes(inspection: Inspection, result: Any) -> dict[str, Any]:
    """Return the fields that say what came of a look: what was seen, or why nothing was."""
    try:
        sight = asdict(result())
        parameters = sight.pop("parameters") or {}
        note_reached([inspection.driver_id])
        return {"sight": sight, "parameters": parameters, "seen_at": Now(), "contact_error": ""}
    except HostKeyChanged as error:
        quarantine([inspection.driver_id], error)
        sentence = str(error)
    except (Unreachable, TimeoutError) as error:
        sentence = str(error) or "The driver did not answer in time."
        note_unreached([inspection.driver_id], sentence)
    except (LookupError, RemoteFailure, ValueError) as error:
        sentence = str(error)
    except ImproperlyConfigured as error:
        sentence = f"Nothing was sent: the key of {inspection.driver} or the password cannot be read. {error}"
    except Exception as error:  # what one host answers must not keep the others, nor the runs, waiting
        logger.exception("What was seen of %s cannot be read", inspection.instance)
        sentence = f"BenchHub cannot read what the driver answered: {error!r}."
    return {**NOTHING_SEEN, "contact_error": sentence[:LONGEST_ERROR].replace("\0", "")}
