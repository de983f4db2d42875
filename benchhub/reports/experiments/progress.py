"""Progress of an experiment, counted from its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchhub.bench.models.states import ACTIVE, FINAL, State
from benchhub.bench.queue.progress import Tally, counted, seconds_left


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


def progress(tallies: Sequence[Tally], rest_s: float, *, is_worked_on: bool = True) -> Progress:
    """Count the runs, and estimate the time that is left where it can be told: not while nobody works on them."""
    ended = [row for row in tallies if row.state in FINAL]
    unsuccessful = [row for row in ended if row.state in (State.FAILED, State.LOST)]
    cancelled = [row for row in ended if row.state == State.CANCELLED]
    return Progress(
        planned=_count(tallies),
        ended=_count(ended),
        active=_count(row for row in tallies if row.state in ACTIVE),
        unsuccessful=_count(unsuccessful),
        cancelled=_count(cancelled),
        remaining_s=seconds_left(tallies, rest_s) if is_worked_on else None,
        planned_kinds=_by_kind(tallies),
        done_kinds=_by_kind(row for row in ended if row.state != State.CANCELLED),
        cancelling=sum(row.cancelling for row in tallies if row.state not in FINAL),
    )


def _count(tallies: Iterable[Tally]) -> int:
    return sum(row.runs for row in tallies)


def _by_kind(tallies: Iterable[Tally]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in tallies:
        counts[row.kind] += row.runs
    return counts
