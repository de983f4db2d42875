"""Ticks: claim the runs that are due, have their steps batch on the targets, and write each answer as it arrives.

The steps (steps.py) run on the process's event loop with plain data (jobs.py prepares it); answers.py writes what comes
back, fenced, on the worker's own thread. No transaction is open across SSH. Whatever is interrupted is found again by
the next tick of any worker.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from benchhub.bench.additions import due
from benchhub.bench.models import Run
from benchhub.bench.models.states import ACTIVE
from benchhub.bench.queue import queue

from . import answers, jobs, looks, loop, steps
from .steps import Answer, Job, Wake

BATCH = 200
FEW, GATHER_S = 8, 0.05
RENEW_S = queue.LEASE.total_seconds() / 4  # leases are renewed while a step takes long, well before they end


def tick(wake: Wake, run_ids: Iterable[int] = ()) -> int:
    """Advance the named runs, or all that are due, and start what may; return the number of steps batch.

    Never waits for a load. Named runs do not wait for the looks at others: theirs is a host that stands idle.
    """
    selected_ids = list(run_ids)
    if not selected_ids:
        looks.note_signs(steps.signs(looks.LOOK_EVERY.total_seconds()), looks.LOOK_EVERY)
    followed = _follow(wake, selected_ids or due.reserve())
    while not selected_ids and (batch := _round(wake)):
        followed += len(batch)
        if _has_ended(batch):
            followed += _follow(wake, due.reserve())
    return followed


def _follow(wake: Wake, run_ids: Sequence[int]) -> int:
    """Advance these runs, and then those that take the place of what has ended, one after the other."""
    followed = 0
    while run_ids and (batch := _round(wake, run_ids)):
        followed += len(batch)
        run_ids = due.reserve() if _has_ended(batch) else ()
    return followed


def _round(wake: Wake, run_ids: Sequence[int] = ()) -> list[Job]:
    batch = jobs.prepare(queue.claim(BATCH, run_ids))
    _advance(batch, wake)
    return batch


def _advance(batch: Iterable[Job], wake: Wake) -> None:
    pending, renewed_s = {loop.submit(steps.step(job)): job for job in batch}, time.monotonic()
    while pending:
        for job in answers.write_all({future: pending.pop(future) for future in _arrived(pending)}, wake):
            pending[loop.submit(steps.step(job))] = job
        if time.monotonic() - renewed_s > RENEW_S / 2:
            queue.renew(job.claim for job in pending.values())
            renewed_s = time.monotonic()


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
