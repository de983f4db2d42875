"""The curves of a comparison, each with the experiment and the runs that it comes from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass

from benchhub.analysis.curves import curve
from benchhub.bench.models import Experiment, ExperimentSystem
from benchhub.reports.curves import curves
from benchhub.reports.curves.curves import UNKNOWN, SystemCurve
from benchhub.reports.curves.latencies import HistogramByRun
from benchhub.reports.curves.runs import CurveRun
from runners import tools


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(SystemCurve):
    """One curve of a comparison. `key` names it in an address; `label` tells it from the other curves."""

    key: str
    experiment: Experiment
    runs: tuple[CurveRun, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """Comparable curves in their order, and the baseline of the others: the first unless another one is named."""

    curves: tuple[Entry, ...]
    baseline_key: str = ""

    @property
    def baseline(self) -> Entry:
        return next((entry for entry in self.curves if entry.key == self.baseline_key), self.curves[0])

    @property
    def others(self) -> list[Entry]:
        return [entry for entry in self.curves if entry is not self.baseline]

    @property
    def unit(self) -> str:
        return self.baseline.curve.unit

    @property
    def transactions(self) -> tuple[str, ...]:
        """Return the types of transaction that the load generator measures response times of."""
        return tools.get(self.baseline.experiment.workload.tool).transactions

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.curves)

    def __len__(self) -> int:
        return len(self.curves)

    def __getitem__(self, place: int) -> Entry:
        return self.curves[place]


def key_of(row: ExperimentSystem) -> str:
    return f"{row.experiment_id}-{row.system_id}"


def build(
    rows: Sequence[ExperimentSystem], runs: Sequence[CurveRun], latencies: HistogramByRun = UNKNOWN
) -> tuple[list[Entry], list[str]]:
    """Build the curves of the given rows from their runs, and a sentence for each row without a curve that says why.

    `latencies` are the histograms by run.
    """
    entries: list[Entry] = []
    problems: list[str] = []
    runs_by_curve: dict[tuple[int, int], list[CurveRun]] = defaultdict(list)
    for run in runs:
        runs_by_curve[run.experiment_id, run.system_id].append(run)
    for row, label in zip(rows, _labels(rows), strict=True):
        row_runs = runs_by_curve[row.experiment_id, row.system_id]
        points = [curves.point(run, row.system, latencies) for run in row_runs if curves.is_point(run, run.protocol_id)]
        if not points:
            problems.append(f"{label} of '{row.experiment}' is left out. {_missing_text(row_runs)}")
            continue
        try:
            entries.append(_entry(row, label, len(entries), curve.build(points), row_runs))
        except ValueError as error:
            problems.append(f"{label} of '{row.experiment}' is left out. {error}")
    return entries, problems


def _missing_text(runs: Sequence[CurveRun]) -> str:
    """Say why none of these runs is a point, and what to do."""
    if any(run.rate_tps for run in runs):
        return curves.OFFERED
    if any(run.set_aside_at and run.has_result for run in runs):
        return "All its runs with a result are set aside. Put one back on its page, or run it again."
    return "No run of it has ended with a result."


def _entry(row: ExperimentSystem, label: str, series: int, built: curve.Curve, runs: Sequence[CurveRun]) -> Entry:
    """Build an entry whose system has the label of this comparison; that copy of the system is never saved."""
    system = copy(row.system)
    system.label = label
    return Entry(
        system,
        series,
        built,
        planned=tuple(row.experiment.client_levels),
        key=key_of(row),
        experiment=row.experiment,
        runs=tuple(runs),
    )


def _labels(rows: Sequence[ExperimentSystem]) -> list[str]:
    """Return labels as short as tells all systems apart."""
    forms = (
        [row.system.label for row in rows],
        [f"{row.system.label}, {row.system.configuration}" for row in rows],
        [f"{row.system.label}, {row.experiment}" for row in rows],
    )
    distinct = (form for form in forms if len(set(form)) == len(form))
    labels = next(distinct, [f"{row.system.label}, {row.experiment} ({key_of(row)})" for row in rows])
    # The note that tells workloads apart is written only where it differs.
    notes = [row.experiment.workload.description.label_note for row in rows]
    is_marked = len(set(notes)) > 1
    return [f"{label}, {note}" if is_marked and note else label for label, note in zip(labels, notes, strict=True)]
