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
    system_curve: SystemCurve
    verdict: Verdict
    peak: str


def notes(group: Group, runs: Sequence[Run]) -> list[Note]:
    return [
        Note(system_curve, verdicts.of_curve(_own(system_curve, group, runs)), peak_sentence(system_curve))
        for system_curve in group.curves
    ]


def _own(system_curve: SystemCurve, group: Group, runs: Sequence[Run]) -> list[Run]:
    measuring = [run for run in runs if run.kind == Run.Kind.MEASURE and run.system_id == system_curve.system.pk]
    return [run for run in measuring if run.protocol_id == group.protocol_digest]


def peak_sentence(system_curve: SystemCurve) -> str:
    """The peak without the bias of picking the best; why not, where repeats are too few or not independent."""
    if system_curve.curve.withheld:
        return f"No peak is estimated: {system_curve.curve.withheld}."
    levels = peak.of_curve(system_curve.curve)
    selected = peak.selected(levels)
    if selected is None:
        return "No peak is estimated: that needs three repeats or more at each level."
    value, low, high = (
        significant(value_in_unit, 3) for value_in_unit in (selected.value, selected.low, selected.high)
    )
    best = f"Its best throughput is {value} {system_curve.curve.unit}, between {low} and {high}"
    return f"{best}, {peaks.place(selected, levels)}."
