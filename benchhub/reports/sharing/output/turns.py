"""Turns of those who ask a link for what nobody has made before, which takes a processor a second, or a browser.

One is made at a time in each process. Who waits holds a thread of the server, so only a few wait; the others are told
to come back. What is ready is sent to all at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import BoundedSemaphore, Lock
from typing import Any

MOST_PLACES = 3
PATIENCE_S = 20
RETRY_S = 10
BUSY = "Many readers ask for prices at terms of their own. Try again in a moment."


class BusyError(Exception):
    """Too many wait already; the message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Turns at one kind of work of this process. `busy` makes the error for those who are to come back."""

    busy: Callable[[], Exception]
    lock: Any = field(default_factory=Lock)
    places: Any = field(default_factory=lambda: BoundedSemaphore(MOST_PLACES))

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until it is one's turn. Raises `busy` where too many wait, or for too long. Turns do not nest."""
        if not self.places.acquire(blocking=False):
            raise self.busy()
        try:
            if not self.lock.acquire(timeout=PATIENCE_S):
                raise self.busy()
            try:
                yield
            finally:
                self.lock.release()
        finally:
            self.places.release()


READERS = Turns(lambda: BusyError(BUSY))
