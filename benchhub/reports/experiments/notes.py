"""Notes on each curve of an experiment by itself: how far to trust it, and its peak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchhub.analysis.curves import peak
from benchhub.analysis.doubts.verdict import Verdict
from benchhub.analysis.words import significant
from benchhub.bench.models import Run
from benchhub.reports.curves import peaks, verdicts
from benchhub.reports.curves.curves import Group, SystemCurve
from benchhub.reports.curves.runs import CurveRun


@dataclass(frozen=True, slots=True)
class Note:
    system_curve: SystemCurve
    verdict: Verdict
    peak: str


def notes(group: Group, runs: Sequence[CurveRun]) -> list[Note]:
    measuring = [run for run in runs if run.kind == Run.Kind.MEASURE and run.protocol_id == group.protocol_digest]
    notes = []
    for system_curve in group.curves:
        system_runs = [run for run in measuring if run.system_id == system_curve.system.pk]
        notes.append(Note(system_curve, verdicts.of_curve(system_runs), peak_sentence(system_curve)))
    return notes


def peak_sentence(system_curve: SystemCurve) -> str:
    """Say where the peak is and how sure that is, or why it is not estimated."""
    if system_curve.curve.withheld:
        return f"No peak is estimated: {system_curve.curve.withheld}."
    levels = peak.of_curve(system_curve.curve)
    selected = peak.selected(levels)
    if selected is None:
        return "No peak is estimated: that needs three repeats or more at each level."
    value, low, high = (significant(number, 3) for number in (selected.value, selected.low, selected.high))
    best = f"Its best throughput is {value} {system_curve.curve.unit}, between {low} and {high}"
    return f"{best}, {peaks.place(selected, levels)}."
