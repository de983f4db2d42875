"""What Celery runs: ticks. A lost, late or doubled tick does no harm; the next one finds the same rows."""

from __future__ import annotations

from benchhub import celery
from benchhub.celery import app

from . import execution, timetable, visits


@app.task(name="bench.tick", ignore_result=True)  # type: ignore[untyped-decorator]  # celery has no types
def tick(run_ids: tuple[int, ...] = ()) -> None:
    """Write out windows, visit hosts that people asked about, and advance every run that is due or named."""
    timetable.expand()
    visits.visit_hosts()
    execution.tick(celery.wake, run_ids)
