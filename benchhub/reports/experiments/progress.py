"""Progress of an experiment, counted from its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchhub.bench.models import Run
from benchhub.bench.models.states import ACTIVE, State
from benchhub.bench.queue.progress import counted, seconds_left


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of runs of all kinds, and the estimate of what is left; `planned_kinds` and `done_kinds` are by kind."""

    planned: int
    ended: int
    active: int
    unsuccessful: int
    cancelled: int
    remaining_s: float | None
    planned_kinds: Mapping[str, int]
    done_kinds: Mapping[str, int]
    cancelling: int = 0

    @property
    def done(self) -> int:
        """Count the runs that ended by themselves; runs that a person cancelled are counted apart."""
        return self.ended - self.cancelled

    @property
    def words(self) -> str:
        """Write '3 of 16 runs and 2 of 2 data sets', of those that ended by themselves."""
        return counted(self.planned_kinds, self.done_kinds)

    @property
    def planned_words(self) -> str:
        return counted(self.planned_kinds)

    @property
    def is_live(self) -> bool:
        return self.ended < self.planned


def progress(runs: Sequence[Run], *, is_worked_on: bool = True) -> Progress:
    """Count the runs, and estimate the time that is left where it can be told: not while nobody works on them."""
    is_known = is_worked_on and not any(run.is_out_of_sight for run in runs)
    states = Counter(run.state for run in runs)
    return Progress(
        planned=len(runs),
        ended=sum(run.is_final for run in runs),
        active=sum(states[state] for state in ACTIVE),
        unsuccessful=states[State.FAILED] + states[State.LOST],
        cancelled=states[State.CANCELLED],
        remaining_s=seconds_left(runs) if is_known else None,
        planned_kinds=Counter(run.kind for run in runs),
        done_kinds=Counter(run.kind for run in runs if run.is_final and run.state != State.CANCELLED),
        cancelling=sum(bool(run.cancel_asked_at) and not run.is_final for run in runs),
    )
