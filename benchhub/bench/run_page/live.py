"""A run under way, for whoever looks on: its throughput second by second, and how long it still takes.

The looks at the target bring its newest lines every few seconds (looks.LOOK_EVERY); a script plays them out one a
second, so that the line grows steadily and the target is read no more often than without a viewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Max
from django.utils import timezone

from benchhub.bench.models import Event, LiveLog, Run
from benchhub.bench.queue.progress import deadline, expected_end
from benchhub.bench.results import live_log
from benchhub.ui.feeds import version_of
from runners import tools

MOST_SECONDS = 600
REFRESH_S = 300  # so often a page is made anew although no run of it has moved: for times, and what lies beside


def rates_of(runs: Sequence[Run]) -> dict[int, list[float]]:
    """Return what the load generators of runs under way have printed, second by second, by run; in one query."""
    logs = LiveLog.objects.filter(attempt__run__in=runs, attempt__ended_at=None, stream=LiveLog.Stream.ERR)
    rows = logs.values_list("attempt__run", "content")
    return {run: live_log.rates(bytes(content))[-MOST_SECONDS:] for run, content in rows}


def unit_of(run: Run) -> str:
    return tools.get(run.experiment.workload.tool).live_unit


def feed(run: Run) -> dict[str, Any]:
    """Return the seconds of the load so far; `run` comes with experiment, workload and watch.

    Its end is expected at a moment (`end_epoch_s`) and not in so many seconds: as long as nothing comes, the answer is
    the same one. At `deadline_epoch_s` at the latest its host ends it.
    """
    now, extras = timezone.now(), Run.objects.extras_s([run.experiment_id])
    return {
        "values": [] if run.is_final else rates_of([run]).get(run.pk, []),
        "unit": unit_of(run),
        "load_s": run.spec.get("duration_s") or 0,
        "end_epoch_s": None if run.is_final else _epoch_s(expected_end(run, now, extras)),
        "deadline_epoch_s": None if run.is_final else _epoch_s(deadline(run)),
    }


def _epoch_s(at: datetime | None) -> int | None:
    return round(at.timestamp()) if at else None


def version(run: int) -> str:
    """Return what changes with the page of a run, in one query beside that of its events."""
    row = Run.objects.filter(pk=run).values_list(
        "state", "cancel_asked_at", "set_aside_at", "watch__step", "watch__contact_error", "watch__unreachable_since"
    )
    events = Event.objects.filter(run=run).aggregate(Max("pk"))
    return version_of(list(row), events, slot())


def slot() -> int:
    """Return a number that is another one every five minutes."""
    return int(timezone.now().timestamp()) // REFRESH_S
