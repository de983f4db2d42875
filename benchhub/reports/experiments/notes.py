"""What is said about each curve of an experiment by itself: how far to trust it, and what its peak is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchhub.analysis.curves import peak
from benchhub.analysis.doubts.verdict import Verdict
from benchhub.analysis.words import significant
from benchhub.bench.models import Run
from benchhub.reports.curves import peaks, verdicts
from benchhub.reports.curves.curves import Group, SystemCurve


@dataclass(frozen=True, slots=True)
class Note:
    of: SystemCurve
    verdict: Verdict
    peak: str


def notes(group: Group, runs: Sequence[Run]) -> list[Note]:
    return [Note(of, verdicts.of_curve(_own(of, group, runs)), peak_sentence(of)) for of in group.curves]


def _own(of: SystemCurve, group: Group, runs: Sequence[Run]) -> list[Run]:
    measuring = [run for run in runs if run.kind == Run.Kind.MEASURE and run.system_id == of.system.pk]
    return [run for run in measuring if run.protocol_id == group.protocol_digest]


def peak_sentence(of: SystemCurve) -> str:
    """The peak without the bias of picking the best; why not, where repeats are too few or not independent."""
    if of.curve.withheld:
        return f"No peak is estimated: {of.curve.withheld}."
    levels = peak.of_curve(of.curve)
    found = peak.selected(levels)
    if found is None:
        return "No peak is estimated: that needs three repeats or more at each level."
    value, low, high = (significant(one, 3) for one in (found.value, found.low, found.high))
    return f"Its best throughput is {value} {of.curve.unit}, between {low} and {high}, {peaks.place(found, levels)}."
