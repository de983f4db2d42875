"""Runs under way, each with its newest throughputs and how far its experiment is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import BinaryField, Count, F, Func, Q, Sum

from benchhub.bench.models import FINAL, LiveLog, Run
from benchhub.bench.models.states import State
from benchhub.bench.queue.progress import run_seconds_late, run_seconds_left
from benchhub.bench.results import live_log
from runners import tools

from .sparkline import Sparkline, sparkline

MOST_RUNNING = 12
MOST_VALUES = 60
TAIL_BYTES = 4096  # of a log: some sixty reports of progress
TAIL = f"substring(%(expressions)s from greatest(1, octet_length(%(expressions)s) - {TAIL_BYTES - 1}))"


@dataclass(frozen=True, slots=True)
class Progress:
    """Runs of an experiment that have ended, of all, and the seconds of load that still wait."""

    ended: int
    planned: int
    waiting_s: float


@dataclass(frozen=True, slots=True)
class Running:
    """A run under way: the seconds it still takes or is late, its throughput so far, and its experiment's progress."""

    run: Run
    left_s: float
    late_s: float
    sparkline: Sparkline | None
    progress: Progress

    @property
    def experiment_left_s(self) -> float:
        return self.left_s + self.progress.waiting_s


def active() -> list[Run]:
    """Return the runs under way, the longest first."""
    runs = Run.objects.active().select_related("experiment__workload", "system__driver", "watch")
    heavy = ("spec", "system__description", "system__driver__facts", "system__driver__private_key")
    return list(runs.defer(*heavy).order_by("started_at", "pk"))


def running(runs: Sequence[Run], now: datetime) -> list[Running]:
    """Return the given runs as the board shows them, in three queries whatever their number."""
    runs = runs[:MOST_RUNNING]
    values, progress = _values(runs), _progress({run.experiment_id for run in runs})
    extras = Run.objects.extras_s(progress)
    return [
        Running(
            run,
            run_seconds_left(run, now, extras),
            run_seconds_late(run, now, extras),
            _line(run, values.get(run.pk, ())),
            progress[run.experiment_id],
        )
        for run in runs
    ]


def _line(run: Run, values: Sequence[float]) -> Sparkline | None:
    return sparkline(values[-MOST_VALUES:], tools.get(run.experiment.workload.tool).live_unit)


def _values(runs: Sequence[Run]) -> dict[int, list[float]]:
    """Return the newest throughputs that the load generators printed, by run."""
    if not runs:
        return {}
    logs = LiveLog.objects.filter(attempt__run__in=runs, attempt__ended_at=None, stream=LiveLog.Stream.ERR)
    tails = logs.annotate(tail=Func(F("content"), template=TAIL, output_field=BinaryField()))
    return {run: live_log.rates(bytes(tail)) for run, tail in tails.values_list("attempt__run", "tail")}


def _progress(experiments: set[int]) -> Mapping[int, Progress]:
    rows = Run.objects.filter(experiment__in=experiments).order_by().values("experiment")
    rows = rows.annotate(
        planned=Count("pk"),
        ended=Count("pk", filter=Q(state__in=FINAL)),
        waiting_s=Sum("expected_s", filter=Q(state=State.QUEUED), default=0),
    )
    return {row["experiment"]: Progress(row["ended"], row["planned"], row["waiting_s"]) for row in rows}
