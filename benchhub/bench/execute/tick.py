"""Ticks: claim the runs that are due, have their steps batch on the targets, and write each answer as it arrives.

The steps (steps/) run on the process's event loop with plain data (jobs.py prepares it); answers.py writes what comes
back, fenced, on the worker's own thread. No transaction is open across SSH. Whatever is interrupted is found again by
the next tick of any worker.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from benchhub.bench.additions import due
from benchhub.bench.models import Run
from benchhub.bench.models.states import ACTIVE
from benchhub.bench.queue import queue

from . import answers, jobs, looks, loop
from .steps.contract import Answer, Job
from .steps.step import step
from .steps.watch import Wake, signs

logger = logging.getLogger(__name__)

Pending = dict[Future[Answer], Job]

BATCH = 200
FEW, GATHER_S = 8, 0.05
RENEW_S = queue.LEASE.total_seconds() / 4  # leases are renewed while a step takes long, well before they end


def tick(wake: Wake, run_ids: Iterable[int] = ()) -> int:
    """Advance the named runs, or all that are due, and start what may; return the number of steps batch.

    Never waits for a load. Named runs do not wait for the looks at others: theirs is a host that stands idle.
    """
    if selected_ids := list(run_ids):
        return _follow(wake, selected_ids)
    looks.note_signs(signs(looks.LOOK_EVERY.total_seconds()), looks.LOOK_EVERY)
    # Looks and cancels are under way before anything is reserved, and go on if nothing can be.
    looked = _begin(queue.claim(BATCH))
    try:
        started = _begin_next()
    except queue.AWAY:
        _advance(looked, wake)
        raise
    batch = _advance({**looked, **started}, wake)
    followed = len(batch)
    while batch:
        started = _begin_next() if _has_ended(batch) else {}
        batch = _advance({**_begin(queue.claim(BATCH)), **started}, wake)
        followed += len(batch)
    return followed


def _follow(wake: Wake, run_ids: Sequence[int]) -> int:
    """Advance these runs, and then those that take the place of what has ended, one after the other."""
    followed, pending = 0, _begin(queue.claim(BATCH, run_ids))
    while pending:
        batch = _advance(pending, wake)
        followed += len(batch)
        pending = _begin_next() if _has_ended(batch) else {}
    return followed


def _begin(claims: Sequence[queue.Claim]) -> Pending:
    return {loop.submit(step(job)): job for job in jobs.prepare(claims)}


def _begin_next() -> Pending:
    run_ids = _reserve()
    return _begin(queue.claim(BATCH, run_ids)) if run_ids else {}


def _reserve() -> list[int]:
    """Reserve what may run. A failure keeps no run that is under way waiting; the next tick tries it again."""
    try:
        return due.reserve()
    except queue.AWAY:
        raise
    except Exception:
        logger.exception("Nothing can be reserved")
        return []


def _advance(begun: Pending, wake: Wake) -> list[Job]:
    """Write the answers to these steps, and to those that follow at once; return the jobs that had been begun."""
    pending, renewed_s = dict(begun), time.monotonic()
    while pending:
        for job in answers.write_all({future: pending.pop(future) for future in _arrived(pending)}, wake):
            pending[loop.submit(step(job))] = job
        if time.monotonic() - renewed_s > RENEW_S / 2:
            queue.renew(job.claim for job in pending.values())
            renewed_s = time.monotonic()
    return list(begun.values())


def _arrived(pending: Mapping[Future[Answer], Job]) -> list[Future[Answer]]:
    """Wait for an answer; return all that arrive within a moment of the first: many are written together."""
    wait(pending, timeout=RENEW_S / 2, return_when=FIRST_COMPLETED)
    if len(pending) > FEW:
        time.sleep(GATHER_S)
    return [future for future in pending if future.done()]


def _has_ended(batch: Iterable[Job]) -> bool:
    """Tell whether a run has let go of its hosts, so that the next one may have them."""
    keys = [job.claim.run_id for job in batch]
    return Run.objects.filter(pk__in=keys).exclude(state__in=ACTIVE).exists()
