"""Turns of those who ask a link for what nobody has made before, which takes a processor a second.

One is made at a time in each process. Who waits holds a thread of the server, so only a few wait; the others are told
to come back. What is ready is sent to all at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock

ONE = Lock()
PLACES = BoundedSemaphore(3)
PATIENCE_S = 20
RETRY_S = 10
BUSY = "Many readers ask for prices at terms of their own. Try again in a moment."


class BusyError(Exception):
    """Too many wait already; the message is a sentence for people."""


@contextmanager
def turn() -> Iterator[None]:
    """Wait until it is one's turn. Raises BusyError where too many wait, or for too long. Turns do not nest."""
    if not PLACES.acquire(blocking=False):
        raise BusyError(BUSY)
    try:
        if not ONE.acquire(timeout=PATIENCE_S):
            raise BusyError(BUSY)
        try:
            yield
        finally:
            ONE.release()
    finally:
        PLACES.release()
