"""How far an experiment is, and about how long it still takes."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from benchhub.bench.models import Run
from benchhub.bench.states import ACTIVE, State

ASSUMED_OVERHEAD_S = 2.0


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of runs; `remaining_s` is None once all have ended, and leaves out the loading of data sets."""

    planned: int
    ended: int
    active: int
    unsuccessful: int
    loads_left: int
    remaining_s: float | None

    @property
    def is_live(self) -> bool:
        return self.ended < self.planned


def progress(runs: Sequence[Run], rest_s: int) -> Progress:
    states = Counter(run.state for run in runs)
    left = [run for run in runs if not run.is_final]
    return Progress(
        planned=len(runs),
        ended=len(runs) - len(left),
        active=sum(states[state] for state in ACTIVE),
        unsuccessful=states[State.FAILED] + states[State.LOST] + states[State.CANCELLED],
        loads_left=sum(run.kind == Run.Kind.LOAD for run in left),
        remaining_s=_remaining_s(left, rest_s + _overhead_s(runs)) if left else None,
    )


def _remaining_s(left: Sequence[Run], between_s: float) -> float:
    """The longest of the drivers: each drives one run at a time, side by side with the others."""
    by_driver: dict[int, float] = defaultdict(float)
    for run in left:
        by_driver[run.system.driver_id] += run.expected_s + between_s
    return max(by_driver.values())


def _overhead_s(runs: Sequence[Run]) -> float:
    """What a run took beyond its load so far, by the median of those that ended."""
    took = [
        (run.ended_at - run.started_at).total_seconds() - run.expected_s
        for run in runs
        if run.ended_at and run.started_at and run.kind == Run.Kind.MEASURE
    ]
    return max(0.0, statistics.median(took)) if took else ASSUMED_OVERHEAD_S
