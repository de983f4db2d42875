"""Throughput of compared curves at each number of clients, with the ratio to the baseline there."""

from __future__ import annotations

from dataclasses import dataclass

from benchhub.analysis.curves import ratio
from benchhub.analysis.curves.curve import Level
from benchhub.analysis.curves.ratio import Ratio
from benchhub.reports.comparison.entries import Entries, Entry


@dataclass(frozen=True, slots=True)
class Cell:
    """A curve at one level; no ratio where the baseline has no run there."""

    entry: Entry
    level: Level
    ratio: Ratio | None
    is_best: bool
    is_baseline: bool

    @property
    def times(self) -> str:
        """Write the ratio as '1.12x, 1.08 to 1.16'; without a range where no side was repeated or it is withheld."""
        if self.ratio is None:
            return ""
        bounds = self.ratio.bounds
        return ratio.times(self.ratio.value) + (f", {ratio.between(bounds, ' to ')}" if bounds else "")

    @property
    def unsure(self) -> str:
        """Say that the ratio tells nothing apart; empty where it does."""
        if self.is_baseline or self.ratio is None or not self.ratio.overlaps:
            return ""
        if self.ratio.withheld:
            return "no verdict"
        return "not told apart" if self.ratio.is_tested else "overlap"


@dataclass(frozen=True, slots=True)
class Row:
    """All curves at one number of clients; None for a curve that has no run there."""

    clients: int
    cells: tuple[Cell | None, ...]


def levels(entries: Entries) -> list[Row]:
    """Return a row for each number of clients, in rising order. All curves must be comparable."""
    baseline = entries.baseline
    ratios = [ratio.by_level(entry.curve, baseline.curve) for entry in entries]
    by_clients = [{level.clients: level for level in entry.curve.levels} for entry in entries]
    rows = []
    for clients in sorted({clients for levels in by_clients for clients in levels}):
        medians = [levels[clients].throughput.median for levels in by_clients if clients in levels]
        best = max(medians) if len(medians) > 1 else None
        cells = tuple(
            Cell(entry, level, entry_ratios.get(clients), level.throughput.median == best, entry is baseline)
            if (level := levels.get(clients))
            else None
            for entry, levels, entry_ratios in zip(entries, by_clients, ratios, strict=True)
        )
        rows.append(Row(clients, cells))
    return rows
