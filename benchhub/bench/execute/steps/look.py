"""Looks at a run: one round trip, and a second one before a job is taken for lost."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from benchhub.analysis import words
from benchhub.bench.execute.connections import connections
from benchhub.bench.execute.looks import RETRY_AFTER
from benchhub.bench.models.states import State
from benchhub.bench.results import live_log
from runners import job
from runners.verdict import Look, Verdict, judge

from .contract import Job, Looked
from .server import put_back_settings

SECOND_LOOK_S = 0.5
# Time for a person to put a folder back that was moved, where nothing works in it any more that would lead to it. Other
# runs wait for the host meanwhile.
PUT_BACK_WITHIN = timedelta(hours=4)
MOST_WAITS = PUT_BACK_WITHIN // RETRY_AFTER
OVERDUE = (
    "It had not ended within its deadline of {}, and what was to end it on its host had been killed there. BenchHub"
    " ended it; it left no exit code."
)


async def look(job_: Job) -> Looked:
    """Look once, and once more where the first look suggests that the job was lost: it may have been between lines.

    What lives on past its deadline, as its guard on the target has died, is ended, and looked at again.
    """
    sight = await single_look(job_)
    if is_overdue := sight.is_overdue(job_.spec.deadline_s):
        await job.end_overdue(connections(), job_.target, job_.attempt, job_.spec.deadline_s)
        sight = await single_look(job_)
    verdict = judge(sight, suspected=False, boot_id_at_start=job_.boot_id or None)
    if verdict.suspected:
        await asyncio.sleep(SECOND_LOOK_S)
        sight = await single_look(job_)
        verdict = judge(sight, suspected=True, boot_id_at_start=job_.boot_id or None)
    if verdict.state == "lost" and is_overdue:
        verdict = Verdict("lost", OVERDUE.format(words.duration(job_.spec.deadline_s)))
    if verdict.state == "absent" and awaits_folder(job_):
        return Looked(sight, verdict, is_awaited=True)
    is_gone = verdict.state == "absent" and job_.state == State.RUNNING
    if is_gone or (verdict.state == "lost" and job_.spec.cluster):
        # It ends what runs on without its folder, and stops the cluster that a lost one may have left.
        await job.cancel(connections(), job_.target, job_.attempt)
    is_over = is_gone or verdict.state == "lost"
    return Looked(sight, verdict, await put_back_settings(job_) if is_over else "")


def awaits_folder(job_: Job) -> bool:
    """Tell whether the folder of the run was moved under its load so lately that a person may put it back.

    Looks are counted, and no hours: any clock may be set meanwhile, and where nobody looked nobody could have seen it.
    """
    return job_.hidden_at is not None and job_.waits < MOST_WAITS


async def single_look(job_: Job) -> Look:
    offsets = {"offset": job_.offset, "out_offset": job_.out_offset}
    return await job.look(connections(), job_.target, job_.attempt, **offsets)


def live_tps(progress: bytes) -> dict[str, float]:
    """Return the newest throughput that a load generator printed since the last look; empty where it printed none."""
    values = live_log.rates(progress)
    return {"live_tps": values[-1]} if values else {}
