"""Observe the machine of a server that is not the driver's while a run is under way. No run depends on it."""

from __future__ import annotations

import logging
from dataclasses import replace

from runners import observer
from runners.job import Attempt
from runners.ssh import Connections, HostKeyChanged, RemoteFailure, Unreachable
from runners.telemetry.collector import SERVER_LOG

from .contract import Job

logger = logging.getLogger(__name__)


async def begin(pool: Connections, job_: Job) -> None:
    """Begin, where the plan asks for telemetry and the server has a machine of its own that BenchHub reaches.

    Raises Unreachable, as all that comes before a start.
    """
    if job_.server is None or job_.spec.telemetry != "elsewhere":
        return
    spec = job_.spec
    seconds = {"load_s": spec.duration_s, "expected_s": spec.deadline_s or job_.expected_s}
    try:
        await observer.begin(pool, job_.server, _attempt(job_), **seconds, data_directory=job_.server_data_directory)
    except RemoteFailure as error:
        logger.warning("%s is not observed for run %s: %s", job_.server.place, job_.claim.run_id, error)


async def end(pool: Connections, job_: Job) -> dict[str, bytes]:
    """Return by name of its file what was noted; nothing where that cannot be had."""
    if job_.server is None or job_.spec.telemetry != "elsewhere":
        return {}
    try:
        return {SERVER_LOG: await observer.end(pool, job_.server, _attempt(job_))}
    except (RemoteFailure, Unreachable, HostKeyChanged) as error:
        logger.warning("No telemetry of %s for run %s: %s", job_.server.place, job_.claim.run_id, error)
        return {}


def _attempt(job_: Job) -> Attempt:
    return replace(job_.attempt, work_directory=job_.server_work_directory)
