"""Looks at a run: one round trip, and a second one before a job is taken for lost."""

from __future__ import annotations

import asyncio

from benchhub.bench.execute.connections import connections
from benchhub.bench.results import live_log
from runners import job

from .contract import Job, Looked
from .server import put_back_settings

SECOND_LOOK_S = 0.5


async def look(job_: Job) -> Looked:
    """Look once, and once more where the first look suggests that the job was lost: it may have been between lines."""
    sight = await single_look(job_)
    verdict = job.verdict(sight, suspected=False, boot_id_at_start=job_.boot_id or None)
    if verdict.suspected:
        await asyncio.sleep(SECOND_LOOK_S)
        sight = await single_look(job_)
        verdict = job.verdict(sight, suspected=True, boot_id_at_start=job_.boot_id or None)
    if verdict.state == "lost" and job_.spec.cluster:
        await job.cancel(connections(), job_.target, job_.attempt)  # which stops the cluster that it may have left
    return Looked(sight, verdict, await put_back_settings(job_) if verdict.state == "lost" else "")


async def single_look(job_: Job) -> job.Look:
    offsets = {"offset": job_.offset, "out_offset": job_.out_offset}
    return await job.look(connections(), job_.target, job_.attempt, **offsets)


def live_tps(progress: bytes) -> dict[str, float]:
    """Return the newest throughput that a load generator printed since the last look; empty where it printed none."""
    values = live_log.rates(progress)
    return {"live_tps": values[-1]} if values else {}
