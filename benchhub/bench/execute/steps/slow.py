"""Steps that take long: one thread of the process waits for all of them, so that those of ticks are free again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait

from django.db import connections

from benchhub.bench.queue import queue

from .contract import Answer, Job

logger = logging.getLogger(__name__)

Pending = dict[Future[Answer], Job]
Write = Callable[[Pending], Pending]

POLL_S = 0.5
RENEW_S = queue.LEASE.total_seconds() / 8

_lock = threading.Lock()
_handed_over: list[Pending] = []
_is_kept = [False]


def hand_over(pending: Pending, write: Write) -> None:
    """Have these steps waited for elsewhere. `write` stores the answers of some, and returns the steps that follow."""
    with _lock:
        _handed_over.append(pending)
        if _is_kept[0]:
            return
        _is_kept[0] = True
    threading.Thread(target=_keep, args=(write,), name="slow steps", daemon=True).start()


def _keep(write: Write) -> None:
    """Wait for what was handed over until nothing is left, under leases that are renewed."""
    pending: Pending = {}
    renewed_s = time.monotonic()
    while _takes_over(pending):
        try:
            wait(pending, timeout=POLL_S, return_when=FIRST_COMPLETED)
            if arrived := {future: pending.pop(future) for future in list(pending) if future.done()}:
                pending.update(write(arrived))
            if time.monotonic() - renewed_s > RENEW_S:
                renewed_s = time.monotonic()
                queue.renew(job.claim for job in pending.values())
        except Exception:  # as in a tick: what is not written is found again when its lease is over
            logger.exception("The answers of slow steps cannot be written")
            pending.clear()
            connections.close_all()
    connections.close_all()


def _takes_over(pending: Pending) -> bool:
    """Add what was handed over meanwhile; False, and the next hand-over has a thread of its own, where nothing is."""
    with _lock:
        while _handed_over:
            pending.update(_handed_over.pop())
        _is_kept[0] = bool(pending)
        return _is_kept[0]
