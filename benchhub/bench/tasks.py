"""What Celery runs: ticks. A lost, late or doubled tick does no harm; the next one finds the same rows."""

from __future__ import annotations

import logging

from kombu.exceptions import OperationalError

from benchhub.celery import app

from . import execution

logger = logging.getLogger(__name__)


@app.task(name="bench.tick", ignore_result=True)  # type: ignore[untyped-decorator]  # celery has no types
def tick(run_ids: tuple[int, ...] = ()) -> None:
    """Advance every run that is due, and those named, as far as it goes without waiting for a load."""
    execution.tick(wake, run_ids)


def wake(*run_ids: int) -> None:
    """Ask a worker to look now. Without a broker nothing is lost: the ticker's next tick comes in seconds."""
    try:
        tick.apply_async(kwargs={"run_ids": run_ids}, expires=60, retry=False)
    except OperationalError as error:
        logger.warning("The broker cannot be reached (%s); the next tick will do.", error)
