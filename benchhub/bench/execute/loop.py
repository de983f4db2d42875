"""One event loop per process, on a thread of its own, made when first needed (so: after a fork).

SSH connections belong to one loop and are kept on it between ticks. Nothing on this thread touches the ORM. The loop
notes once a second that it turns: whatever holds it holds all hosts of this process.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
TURN_EVERY_S = 1.0

_making = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []
_turned_at_s = [0.0]


def _loop() -> asyncio.AbstractEventLoop:
    with _making:
        if not _loops:
            _loops.append(asyncio.new_event_loop())
            _turned_at_s[0] = time.monotonic()
            _loops[0].call_soon(_turn, _loops[0])
            threading.Thread(target=_loops[0].run_forever, name="ssh", daemon=True).start()
    return _loops[0]


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    _turned_at_s[0] = time.monotonic()
    loop.call_later(TURN_EVERY_S, _turn, loop)


def silent_s() -> float:
    """Return for how many seconds the loop has not turned; 0 where this process needs none."""
    return max(0.0, time.monotonic() - _turned_at_s[0] - TURN_EVERY_S) if _loops else 0.0


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on the process's loop; the future carries its answer or its error."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop())
