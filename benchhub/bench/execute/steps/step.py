"""The next step of a run on its targets: SSH, plain data in and out, no ORM. Steps run on the process's event loop.

Every step may be asked for again after any failure; the protocol on the target makes each take effect once.
"""

from __future__ import annotations

import asyncio

from benchhub.bench.models.states import FINAL, State

from .contract import Answer, Job
from .end import acknowledge, cancel, collect_or_cancel
from .look import look
from .start import start, withdraw

STEP_TIMEOUT_S = 900


async def step(job_: Job) -> Answer:
    """Take the step that the state of the run asks for. Raises what SSH raises, and TimeoutError."""
    async with asyncio.timeout(STEP_TIMEOUT_S):
        if job_.state in FINAL:
            return await acknowledge(job_)
        if job_.cancel_asked and job_.state != State.COLLECTING:
            return await cancel(job_)
        if job_.state == State.STARTING:
            return await (withdraw(job_) if job_.too_late or job_.blocked else start(job_))
        if job_.state == State.COLLECTING:
            return await collect_or_cancel(job_)
        return await look(job_)
