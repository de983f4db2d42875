"""Throughput of compared curves at each number of clients, with the ratio to the baseline there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchhub.analysis.curves import ratio
from benchhub.analysis.curves.curve import Level
from benchhub.analysis.curves.ratio import Ratio
from benchhub.analysis.statistics.estimate import NOT_TESTED, WITHHELD
from benchhub.analysis.statistics.leader import Leader
from benchhub.reports.comparison.entries import Entries, Entry

BEST, HIGHEST = "best", "highest"
NO_VERDICT = "no verdict"
TEST_SAYS = "The test does not tell the two apart."


@dataclass(frozen=True, slots=True)
class Tag:
    """A word beside a number, and the reason for it."""

    word: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A curve at one level; no ratio where the baseline has no run there.

    The highest of several curves has a `leader`, which says whether it is told apart from the others.
    """

    entry: Entry
    level: Level
    ratio: Ratio | None
    leader: Leader | None
    is_baseline: bool

    @property
    def times(self) -> str:
        """Write the ratio as '1.12x, 1.08 to 1.16'; without a range where no side was repeated or it is withheld."""
        if self.ratio is None:
            return ""
        bounds = self.ratio.bounds
        return ratio.times(self.ratio.value) + (f", {ratio.between(bounds, ' to ')}" if bounds else "")

    @property
    def is_best(self) -> bool:
        """Tell whether it is the highest, and told apart from every other."""
        return self.leader is not None and self.leader.is_sure

    @property
    def tags(self) -> list[Tag]:
        """Return the words beside the number: best or highest, and whether that or the ratio is sure."""
        if self.leader is None:
            return [self._unsure] if self._unsure else []
        if self.leader.is_sure:
            return [Tag(BEST)]
        word = NO_VERDICT if self.leader.verdict == WITHHELD else self.leader.verdict
        return [Tag(HIGHEST), Tag(word, f"{self.leader.words[0].upper()}{self.leader.words[1:]}.")]

    @property
    def _unsure(self) -> Tag | None:
        """Return the word for a ratio that tells nothing apart; None where it does."""
        if self.is_baseline or self.ratio is None or self.ratio.is_distinguishable:
            return None
        if self.ratio.withheld:
            return Tag(NO_VERDICT, f"No interval and no verdict: {self.ratio.withheld}.")
        return Tag("not told apart", TEST_SAYS) if self.ratio.is_tested else Tag(NOT_TESTED, self.ratio.why_not_tested)


@dataclass(frozen=True, slots=True)
class Row:
    """All curves at one number of clients; None for a curve that has no run there."""

    clients: int
    cells: tuple[Cell | None, ...]


def levels(entries: Entries) -> list[Row]:
    """Return a row for each number of clients, in rising order. All curves must be comparable."""
    verdicts = Verdicts(entries)
    by_clients = [{level.clients: level for level in entry.curve.levels} for entry in entries]
    rows = []
    for clients in sorted({clients for levels in by_clients for clients in levels}):
        at_level = [
            (entry, level[clients]) for entry, level in zip(entries, by_clients, strict=True) if clients in level
        ]
        cells = {entry.key: _cell(entry, level, at_level, verdicts) for entry, level in at_level}
        rows.append(Row(clients, tuple(cells.get(entry.key) for entry in entries)))
    return rows


class Verdicts:
    """Ratios of compared curves at their levels; those of a pair are computed once."""

    def __init__(self, entries: Entries) -> None:
        self.baseline = entries.baseline
        self._pairs: dict[tuple[str, str], Mapping[int, Ratio]] = {}

    def ratios(self, entry: Entry, other: Entry) -> Mapping[int, Ratio]:
        pair = (entry.key, other.key)
        if pair not in self._pairs:
            self._pairs[pair] = ratio.by_level(entry.curve, other.curve)
        return self._pairs[pair]


def _cell(entry: Entry, level: Level, at_level: Sequence[tuple[Entry, Level]], verdicts: Verdicts) -> Cell:
    own_ratio = verdicts.ratios(entry, verdicts.baseline).get(level.clients)
    highest = max(other.throughput.mean for _, other in at_level)
    leader = None
    if len(at_level) > 1 and level.throughput.mean == highest:
        others = [other for other, _ in at_level if other is not entry]
        leader = Leader(tuple((other.label, verdicts.ratios(entry, other)[level.clients].verdict) for other in others))
    return Cell(entry, level, own_ratio, leader, entry is verdicts.baseline)
