"""One event loop per process, on a thread of its own, made when first needed (so: after a fork).

SSH connections belong to one loop and are kept on it between ticks. Nothing on this thread touches the ORM.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_making = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []


def _loop() -> asyncio.AbstractEventLoop:
    with _making:
        if not _loops:
            _loops.append(asyncio.new_event_loop())
            threading.Thread(target=_loops[0].run_forever, name="ssh", daemon=True).start()
    return _loops[0]


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on the process's loop; the future carries its answer or its error."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop())
