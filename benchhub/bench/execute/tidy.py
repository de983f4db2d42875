"""Clean-up on targets that was missed: the worker died, or the line was cut, after the evidence had been stored."""

from __future__ import annotations

import logging
from concurrent.futures import Future, as_completed
from datetime import timedelta

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from benchhub.bench.models import Attempt
from benchhub.bench.models.states import State
from benchhub.bench.queue import exclusive
from benchhub.catalog.models import Host
from runners.job import KEEP_EVIDENCE_DAYS
from runners.ssh import HostKeyChanged, RemoteFailure, Unreachable

from . import loop, visits
from .steps import end
from .visits import target_of

logger = logging.getLogger(__name__)

AT_A_TIME = 20
PATIENCE = timedelta(seconds=2 * settings.LEASE_SECONDS)
# What a lost or cancelled attempt left, or one whose host did not hand it over, was never collected: it lies where
# people can look at it for so long.
KEPT = timedelta(days=KEEP_EVIDENCE_DAYS)


def tidy() -> int:
    """Let targets clean up after attempts that ended a while ago; return after how many. Any worker may repeat it."""
    tasks = {}
    for attempt in undisturbing():
        tasks[loop.submit(_tidy(attempt))] = attempt
    for future in as_completed(tasks):
        _note(tasks[future], future)
    return len(tasks)


def undisturbing() -> list[Attempt]:
    """Return attempts on hosts that no experiment has to itself soon: of the others it is done afterwards.

    The others are left out before they are counted, so that they take nobody's place.
    """
    drivers = Host.objects.filter(pk__in=untidied().order_by().values("run__system__driver"))
    hosts = list(drivers.defer("facts", "private_key"))
    refusals = exclusive.visit_refusals(hosts, timedelta(seconds=end.ACKNOWLEDGE_TIMEOUT_S))
    return list(untidied().exclude(run__system__driver__in=refusals)[:AT_A_TIME]) if hosts else []


async def _tidy(attempt: Attempt) -> None:
    host = attempt.run.system.driver
    await end.tidy(target_of(host), visits.place_of(attempt.run, attempt))


def untidied() -> QuerySet[Attempt]:
    """Return the attempts whose clean-up was missed, in any order: one that cannot be done must not hold up others."""
    stored = Q(outcome__in=[State.SUCCEEDED, State.FAILED], returncode__isnull=False)
    collected = stored & Q(ended_at__lt=Now() - PATIENCE)
    reachable = {"run__system__driver__trust": Host.Trust.PINNED, "run__system__driver__unreachable_since": None}
    ended = Attempt.objects.filter(collected | Q(ended_at__lt=Now() - KEPT), acknowledged_at=None, **reachable)
    return ended.select_related("run__system__driver").order_by("?")


def _note(attempt: Attempt, future: Future[None]) -> None:
    try:
        future.result()
    except (Unreachable, RemoteFailure, HostKeyChanged, TimeoutError, ImproperlyConfigured) as error:
        logger.warning("Attempt %s of run %s is not tidied up yet: %s", attempt.number, attempt.run_id, error)
        if isinstance(error, Unreachable):  # it is left in peace until somebody has reached it
            visits.note_unreached([attempt.run.system.driver_id], str(error))
    else:
        Attempt.objects.filter(pk=attempt.pk).update(acknowledged_at=Now())
