"""Tell whether what leads among several numbers is the winner, and name those that may be as good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchhub.analysis.words import count, listing

from .drift import NOT_IN_TURNS, NOT_IN_TURNS_BRIEF
from .estimate import NOT_DISTINGUISHABLE, NOT_TESTED, WITHHELD
from .spread import FEWEST_FOR_INTERVAL

NO_CLEAR_WINNER = "no clear winner"
UNSURE = (NO_CLEAR_WINNER, NOT_TESTED, WITHHELD)
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Leader:
    """The highest throughput or the lowest price against each of the others: (label, verdict of the ratio)."""

    against: tuple[tuple[str, str], ...]

    @property
    def candidates(self) -> tuple[str, ...]:
        """Return the labels of those that may be as good."""
        return self._with(NOT_DISTINGUISHABLE)

    @property
    def is_sure(self) -> bool:
        return not self.verdict

    @property
    def verdict(self) -> str:
        """Return one of UNSURE; empty where it is told apart from every other."""
        if self.candidates:
            return NO_CLEAR_WINNER
        return next((verdict for verdict in (WITHHELD, NOT_TESTED) if self._with(verdict)), "")

    @property
    def words(self) -> str:
        """Say why it is no winner; empty where it is one."""
        return self._reasons(MOST_NAMED, NOT_IN_TURNS)

    @property
    def brief(self) -> str:
        """Say it as `words` does where there is little room: without many names, and the reasons without their why."""
        return self._reasons(1, NOT_IN_TURNS_BRIEF)

    def _reasons(self, most: int, not_in_turns: str) -> str:
        parts = [
            (f"{NO_CLEAR_WINNER}: not distinguishable from {{}}", self.candidates),
            (f"{NOT_TESTED} against {{}}, as that takes {FEWEST_FOR_INTERVAL} repeats of each", self._with(NOT_TESTED)),
            (f"no verdict against {{}}, as {not_in_turns}", self._with(WITHHELD)),
        ]
        return "; ".join(template.format(self._names(labels, most)) for template, labels in parts if labels)

    def _with(self, verdict: str) -> tuple[str, ...]:
        return tuple(label for label, own_verdict in self.against if own_verdict == verdict)

    def _names(self, labels: Sequence[str], most: int) -> str:
        """Write 'a, b and c'; of more than `most` only the first, and their number where there are no others."""
        rest = len(labels) - most
        if rest > 0 and len(labels) == len(self.against):
            return f"any of the {count(len(labels), 'other')}"
        return listing([*labels[:most], *([count(rest, "other")] if rest > 0 else [])])
