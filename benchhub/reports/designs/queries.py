"""Queries of a design's results; their number does not grow with its parts."""

from __future__ import annotations

from django.db.models import Q

from benchhub.bench.models import Design, ExperimentSystem, Run
from benchhub.reports.curves import runs as curve_runs
from benchhub.reports.curves.runs import CurveRun


def runs(design: Design) -> list[CurveRun]:
    """Return the runs of all parts that are points of a curve, with their results."""
    rows = curve_runs.read(Q(experiment__design=design, kind=Run.Kind.MEASURE, rate_tps=0))
    return [run for run in rows if run.is_measured]


def reasons_aside(design: Design) -> dict[tuple[int, int], list[str]]:
    """Return why the runs of each curve with a result were set aside, a reason each, by experiment and system."""
    runs = Run.objects.filter(experiment__design=design, set_aside_at__isnull=False, result__isnull=False)
    reasons: dict[tuple[int, int], list[str]] = {}
    for experiment, system, reason in runs.order_by("pk").values_list("experiment", "system", "set_aside_reason"):
        reasons.setdefault((experiment, system), []).append(reason)
    return reasons


def systems(design: Design) -> list[ExperimentSystem]:
    """Return the systems of each part, in the order of the plan."""
    rows = ExperimentSystem.objects.filter(experiment__design=design)
    return list(rows.select_related("system__instance").defer("system__description").order_by("experiment", "position"))
