"""The tasks that Celery runs: ticks, notices and the archive. A tick that is lost, late or doubled does no harm."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from django.conf import settings

from benchhub import celery
from benchhub.bench.additions import recurring
from benchhub.bench.models import ArchiveRule, EndedCount, EndedTally, Watch
from benchhub.bench.queue import timetable
from benchhub.bench.queue.queue import AWAY
from benchhub.bench.results import archive
from benchhub.bench.webhooks import notices
from benchhub.celery import app

from . import clusters, inspections, tidy, visits, workers
from . import tick as execute_tick
from .builds import visits as builds

logger = logging.getLogger(__name__)

_deciding = threading.Lock()
_last_s = [float("-inf")]


@app.task(name="bench.tick", ignore_result=True)  # type: ignore[untyped-decorator]  # celery has no types
def tick(run_ids: tuple[int, ...] = (), is_scheduled: bool = False) -> None:
    """Advance every run that is due or named; as the ticker's tick also do what needs doing from time to time."""
    if is_scheduled and not is_due():
        return
    if is_scheduled:
        _step(workers.note)
    if not run_ids:
        _step(timetable.expand)
        _step(recurring.queue_due)
        _step(visits.visit_hosts)
        _step(clusters.visit_clusters)
        _step(inspections.visit_inspections)
    # A thread is free again for the next tick within one, however slow a host hands over its results.
    _step(execute_tick.tick, celery.wake, run_ids, settings.TICK_SECONDS)
    if not run_ids:
        _step(builds.visit_builds)
    if is_scheduled:
        _step(tidy.tidy)
        _step(EndedCount.objects.fold)
        _step(EndedTally.objects.fold)
        _step(Watch.objects.forget)
        _step(_notify_if_due)
        _step(_archive_if_due)


def _step(take: Callable[..., object], *arguments: object) -> None:
    """Take one step of the tick. If it fails, the others have their turn, and the next tick tries it again."""
    try:
        take(*arguments)
    except AWAY:
        raise
    except Exception:
        logger.exception("A step of the tick failed: %s.%s", take.__module__, take.__name__)


def _notify_if_due() -> None:
    if notices.is_any_due():
        notify.delay()


@app.task(name="bench.notify", ignore_result=True)  # type: ignore[untyped-decorator]  # as above
def notify() -> None:
    """Send the notices that are due, apart from the ticks, which never wait for addresses that people typed."""
    notices.send_due()


def _archive_if_due() -> None:
    if ArchiveRule.objects.due().exists():
        move_to_archive.delay()


@app.task(name="bench.archive", ignore_result=True)  # type: ignore[untyped-decorator]  # as above
def move_to_archive() -> None:
    """Move a batch of files, apart from the ticks, which never wait for an archive."""
    archive.move_due()


def is_due() -> bool:
    """Tell whether a tick of the ticker is to be done: of ticks that pile up one in a while is enough.

    They pile up where this process was paused or several tickers run. This process's own monotonic clock decides: an
    expiry in the message would compare the clocks of two machines, and a worker whose clock is ahead would drop every
    tick.
    """
    with _deciding:
        now_s = time.monotonic()
        if now_s - _last_s[0] < settings.TICK_SECONDS / 2:
            return False
        _last_s[0] = now_s
        return True
