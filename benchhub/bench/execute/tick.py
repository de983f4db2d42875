"""Ticks: claim the runs that are due, have their steps batch on the targets, and write each answer as it arrives.

The steps (steps/) run on the process's event loop with plain data (jobs.py prepares it); answers.py writes what comes
back, fenced, on the worker's own thread. No transaction is open across SSH. Whatever is interrupted is found again by
the next tick of any worker.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from threading import main_thread

from benchhub.bench.additions import due
from benchhub.bench.models import Run
from benchhub.bench.models.states import ACTIVE
from benchhub.bench.queue import queue

from . import answers, jobs, looks, loop
from .steps import slow
from .steps.contract import Answer, Job
from .steps.slow import Pending
from .steps.step import step
from .steps.watch import Wake, signs

logger = logging.getLogger(__name__)

BATCH = 200
FEW, GATHER_S = 8, 0.05
RENEW_S = queue.LEASE.total_seconds() / 4  # leases are renewed while a step takes long, well before they end


def tick(wake: Wake, run_ids: Iterable[int] = (), patience_s: float = math.inf) -> int:
    """Advance the named runs, or all that are due, and start what may; return the number of steps batch.

    Never waits for a load, and for no step longer than `patience_s`: then another thread does (steps/slow.py). Named
    runs do not wait for the looks at others: theirs is a host that stands idle.
    """
    if _is_ending():
        return 0
    if selected_ids := list(run_ids):
        return _follow(wake, selected_ids, patience_s)
    looks.note_signs(signs(looks.LOOK_EVERY.total_seconds()), looks.LOOK_EVERY)
    # Looks and cancels are under way before anything is reserved, and go on if nothing can be.
    looked = _begin(queue.claim(BATCH))
    try:
        started = _begin_next()
    except queue.AWAY:
        _advance(looked, wake, patience_s)
        raise
    batch = _advance({**looked, **started}, wake, patience_s)
    followed = len(batch)
    while batch and not _is_ending():
        started = _begin_next() if _has_ended(batch) else {}
        batch = _advance({**_begin(queue.claim(BATCH)), **started}, wake, patience_s)
        followed += len(batch)
    return followed


def _is_ending() -> bool:
    """Tell whether the process ends: its threads can begin no step any more, and other workers take over."""
    return not main_thread().is_alive()


def _follow(wake: Wake, run_ids: Sequence[int], patience_s: float) -> int:
    """Advance these runs, and then those that take the place of what has ended, one after the other."""
    followed, pending = 0, _begin(queue.claim(BATCH, run_ids))
    while pending and not _is_ending():
        batch = _advance(pending, wake, patience_s)
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


def _advance(begun: Pending, wake: Wake, patience_s: float) -> list[Job]:
    """Write the answers to these steps, and to those that follow at once; return the jobs that had been begun.

    Where that takes longer than `patience_s`, the rest is handed over.
    """
    pending, renewed_s = dict(begun), time.monotonic()
    deadline_s = renewed_s + patience_s
    while pending:
        if time.monotonic() >= deadline_s:
            slow.hand_over(pending, partial(_write_late, wake))
            break
        arrived = _arrived(pending, deadline_s - time.monotonic())
        pending.update(_write({future: pending.pop(future) for future in arrived}, wake))
        if time.monotonic() - renewed_s > RENEW_S / 2:
            queue.renew(job.claim for job in pending.values())
            renewed_s = time.monotonic()
    return list(begun.values())


def _write(arrived: Pending, wake: Wake) -> Pending:
    """Write these answers, and begin what follows on them at once."""
    return {loop.submit(step(job)): job for job in answers.write_all(arrived, wake)}


def _write_late(wake: Wake, arrived: Pending) -> Pending:
    """Do the same, and begin what may take the place of runs that have ended: no tick waits for these."""
    following = _write(arrived, wake)
    return {**following, **_begin_next()} if _has_ended(arrived.values()) else following


def _arrived(pending: Mapping[Future[Answer], Job], timeout_s: float) -> list[Future[Answer]]:
    """Wait for an answer; return all that arrive within a moment of the first: many are written together."""
    wait(pending, timeout=max(0.0, min(RENEW_S / 2, timeout_s)), return_when=FIRST_COMPLETED)
    if len(pending) > FEW:
        time.sleep(GATHER_S)
    return [future for future in pending if future.done()]


def _has_ended(batch: Iterable[Job]) -> bool:
    """Tell whether a run has let go of its hosts, so that the next one may have them."""
    keys = [job.claim.run_id for job in batch]
    return Run.objects.filter(pk__in=keys).exclude(state__in=ACTIVE).exists()
