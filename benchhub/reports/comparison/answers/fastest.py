"""Which curve peaks highest, against each of the others, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

from benchhub.analysis.curves import curve, peak, ratio
from benchhub.analysis.curves.ratio import LESS, MORE
from benchhub.analysis.statistics.estimate import NOT_DISTINGUISHABLE, NOT_TESTED
from benchhub.analysis.statistics.leader import Leader
from benchhub.analysis.words import count, significant
from benchhub.reports.curves import peaks
from benchhub.reports.curves.curves import SystemCurve

NO_DIFFERENCE = "no difference shown"
Curve = TypeVar("Curve", bound=SystemCurve)


@dataclass(frozen=True, slots=True)
class Lead(Generic[Curve]):
    """The ratio of the highest peak to another one; `low` and `high` are None where nothing says how sure it is."""

    other: Curve
    value: float
    verdict: str
    low: float | None = None
    high: float | None = None
    why: str = ""

    @property
    def turned(self) -> Lead[Curve]:
        """Return the ratio of the other peak to the highest one; its interval, made in logarithms, turns over too."""
        ends = (None, None) if self.low is None or self.high is None else (1 / self.high, 1 / self.low)
        verdict = {MORE: LESS, LESS: MORE}.get(self.verdict, self.verdict)
        return replace(self, value=1 / self.value, verdict=verdict, low=ends[0], high=ends[1])

    @property
    def ends(self) -> str:
        """Write the ends of its interval, 1.20 to 1.48; empty without one."""
        return "" if self.low is None or self.high is None else ratio.between((self.low, self.high), " to ")

    @property
    def times(self) -> str:
        """Write 1.34x, or with its ends 1.34x (1.20 to 1.48)."""
        return f"{ratio.times(self.value)} ({self.ends})" if self.ends else ratio.times(self.value)


@dataclass(frozen=True)
class Fastest(Generic[Curve]):
    """The curve with the highest peak, and its lead over each of the others, the closest first."""

    entry: Curve
    leads: tuple[Lead[Curve], ...]

    @cached_property
    def leader(self) -> Leader:
        return Leader(tuple((lead.other.label, lead.verdict) for lead in self.leads))

    @property
    def peak(self) -> str:
        """Write the highest peak: 36,900 TPS at 8 clients."""
        level = self.entry.curve.peak.level
        mean = significant(level.throughput.mean, level.throughput.digits)
        return f"{mean} {self.entry.curve.unit} at {count(level.clients, 'client')}"

    @property
    def verdict(self) -> str:
        """Write the verdict as a title."""
        if not self.leads:
            return f"{self.entry.label} reaches {self.peak}"
        if self.leader.is_sure:
            return f"Fastest: {self.entry.label}, {self.peak}"
        if self.leader.candidates:
            return self._undecided
        return f"Highest as measured: {self.entry.label}, {self.peak}"

    @property
    def _undecided(self) -> str:
        if len(self.leads) == 1:
            return f"{NO_DIFFERENCE.capitalize()} between {self.entry.label} and {self.leads[0].other.label}"
        return f"No clear winner: {self.entry.label} peaks highest, {self.peak}"

    @property
    def sentences(self) -> list[str]:
        """Say by how much it leads, and how sure that is."""
        if not self.leads:
            return []
        return [f"Throughput at the peaks: {self._words}."]

    @property
    def _words(self) -> str:
        closest = self.leads[0]
        lead = f"{self.entry.label} has {closest.times} that of {closest.other.label}"
        if len(self.leads) == 1:
            return self._of_two(closest, lead)
        unsure = [other for other in self.leads if other.verdict not in (MORE, LESS)]
        if unsure == [closest] and closest.verdict == NOT_DISTINGUISHABLE:
            return f"{lead}: {NO_DIFFERENCE}"
        return lead if self.leader.is_sure else f"{lead}; {self.leader.brief}"

    def _of_two(self, lead: Lead[Curve], text: str) -> str:
        if lead.verdict in (MORE, LESS):
            return text
        if lead.verdict == NOT_DISTINGUISHABLE:
            return f"{text}: {NO_DIFFERENCE}"
        return f"{text}, {NOT_TESTED if lead.verdict == NOT_TESTED else 'no verdict'}: {lead.why}"


def fastest(entries: Sequence[Curve]) -> Fastest[Curve]:
    """Return the curve with the highest peak among curves of one unit."""
    by_peak = sorted(entries, key=lambda entry: -entry.curve.peak.level.throughput.mean)
    return Fastest(by_peak[0], tuple(_lead(by_peak[0], other) for other in by_peak[1:]))


def _lead(entry: Curve, other: Curve) -> Lead[Curve]:
    ours, theirs = (peak.selected(peak.of_curve(side.curve)) for side in (entry, other))
    if ours and theirs and not peaks.why_withheld(entry.curve, other.curve):
        bounded = peak.ratio(ours, theirs)
        return Lead(other, bounded.value, bounded.verdict, bounded.low, bounded.high)
    return _unbounded(entry, other)


def _unbounded(entry: Curve, other: Curve) -> Lead[Curve]:
    """Return a lead that is not tested, or withheld: the peaks of curves with too few repeats somewhere."""
    levels = [side.curve.peak.level for side in (entry, other)]
    measured = ratio.throughput_ratio(levels[0].values, levels[1].values, entry.curve.unit, other.curve.unit)
    bounded = ratio.without_bounds(measured, curve.why_withheld(entry.curve, other.curve))
    why = bounded.withheld or "that takes 3 repeats at each level of both"
    return Lead(other, bounded.value, bounded.verdict if bounded.withheld else NOT_TESTED, why=why)
