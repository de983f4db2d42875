"""How far an experiment is, counted from its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchhub.bench.models import Run
from benchhub.bench.progress import seconds_left
from benchhub.bench.states import ACTIVE, State


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of runs, and the estimate of what is left."""

    planned: int
    ended: int
    active: int
    unsuccessful: int
    remaining_s: float
    cancelling: int = 0
    again: int = 0

    @property
    def is_live(self) -> bool:
        return self.ended < self.planned


def progress(runs: Sequence[Run]) -> Progress:
    states = Counter(run.state for run in runs)
    return Progress(
        planned=len(runs),
        ended=sum(run.is_final for run in runs),
        active=sum(states[state] for state in ACTIVE),
        unsuccessful=states[State.FAILED] + states[State.LOST] + states[State.CANCELLED],
        remaining_s=seconds_left(runs),
        again=states[State.FAILED] + states[State.LOST],
        cancelling=sum(bool(run.cancel_asked_at) and not run.is_final for run in runs),
    )
