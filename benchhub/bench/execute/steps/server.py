"""The server of a run, as steps find and leave it: counters and collector of its host, and its former settings."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from benchhub.bench.execute.connections import connections
from runners import counters as snapshots
from runners import tools
from runners.os_settings import put_back as os_put_back
from runners.server_settings.put_back import UNDER_WAY, put_back
from runners.ssh import RemoteFailure, Unreachable

from . import observing
from .contract import Job

logger = logging.getLogger(__name__)

OBSERVER_PATIENCE_S = 10.0
RETURNING = "The former settings of its server are being put back: the run ends when they are."


async def snapshot(job_: Job, *, is_before: bool) -> Mapping[str, Any] | None:
    """Return the counters of a server's host that is not the driver; None where it has none to give."""
    if job_.server is None:
        return None
    try:
        return await snapshots.host_snapshot(connections(), job_.server, is_before=is_before)
    except (RemoteFailure, *tools.UNREADABLE) as error:
        logger.warning("No counters of %s for run %s: %s", job_.server.place, job_.claim.run_id, error)
        return None


async def end_observing(job_: Job) -> None:
    """End the collector on the server's host, without waiting long for a host that is away: it ends by itself, too."""
    with suppress(TimeoutError, Unreachable):
        await asyncio.wait_for(observing.end(connections(), job_), OBSERVER_PATIENCE_S)


async def put_back_settings(job_: Job) -> str:
    """Put back what the attempt changed of its host or somebody's server and did not itself; return why that fails.

    The host is asked however the attempt ended: what its log lacks proves nothing. Raises RemoteFailure while somebody
    is at it, as nobody knows yet how that ends: the step is taken again.
    """
    if job_.spec.cluster and job_.spec.cluster.os_settings:
        return await os_put_back.put_back(connections(), job_.target)
    if job_.spec.server_settings is None:
        return ""
    reason = await put_back(connections(), job_.target, job_.attempt.work_directory)
    if reason == UNDER_WAY:
        raise RemoteFailure(RETURNING, None)
    return reason
