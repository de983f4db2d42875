"""Read what an attempt left behind. It takes as long as its files are large, so no row is locked meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from runners import confinement, tools
from runners.contract import Outputs, RunResult, RunSpec
from runners.telemetry import series

from .telemetry import own

T = TypeVar("T")
# Each may take 2 GiB of memory for a while. They wait for each other, and nothing else waits for them.
READERS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="reading")


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What a parser returned, or raised because the outputs make no sense to it."""

    value: T | None = None
    error: Exception | None = None

    def get(self) -> T:
        """Return what the parser returned. Raises what it raised."""
        if self.error is not None:
            raise self.error
        assert self.value is not None
        return self.value


@dataclass(frozen=True, slots=True)
class Readings:
    """What the outputs of an attempt mean, and its telemetry, where the run was planned with any."""

    result: Reading[RunResult]
    telemetry: Reading[series.Telemetry] | None = None


async def read(spec: RunSpec, outputs: Outputs, server_version: str = "") -> Readings:
    """Read the outputs, each in a process of its own that is ended at its limits; the event loop goes on.

    The version of the server is held against the one that they state; empty where it is not known.
    """
    result = await _read(tools.get(spec.tool).judged, spec, outputs, server_version)
    if not own.is_planned(spec):
        return Readings(result)
    return Readings(result, await _read(series.read, *own.sources(spec, outputs)))


async def _read(function: Callable[..., T], *arguments: Any) -> Reading[T]:
    loop = asyncio.get_running_loop()
    try:
        return Reading(value=await loop.run_in_executor(READERS, confinement.read, function, *arguments))
    except tools.UNREADABLE as error:
        return Reading(error=error)
