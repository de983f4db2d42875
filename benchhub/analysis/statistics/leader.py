"""Tell whether what leads among several numbers is the winner, and name those that may be as good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchhub.analysis.words import count, listing

from .drift import NOT_IN_TURNS
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
        parts = [
            (f"{NO_CLEAR_WINNER}: not distinguishable from {{}}", self.candidates),
            (f"{NOT_TESTED} against {{}}, as that takes {FEWEST_FOR_INTERVAL} repeats of each", self._with(NOT_TESTED)),
            (f"no verdict against {{}}, as {NOT_IN_TURNS}", self._with(WITHHELD)),
        ]
        return "; ".join(template.format(self._names(labels)) for template, labels in parts if labels)

    def _with(self, verdict: str) -> tuple[str, ...]:
        return tuple(label for label, own_verdict in self.against if own_verdict == verdict)

    def _names(self, labels: Sequence[str]) -> str:
        """Write 'a, b and c'; of many only the first, and only their number where there are no others."""
        rest = len(labels) - MOST_NAMED
        if rest > 0 and len(labels) == len(self.against):
            return f"any of the {count(len(labels), 'other')}"
        return listing([*labels[:MOST_NAMED], *([count(rest, "other")] if rest > 0 else [])])
