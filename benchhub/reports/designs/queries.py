"""Queries of a design's results; their number does not grow with its parts."""

from __future__ import annotations

from benchhub.bench.models import Design, ExperimentSystem, Run


def runs(design: Design) -> list[Run]:
    """Return the runs of all parts that are points of a curve, with their results, in one query."""
    rows = Run.objects.filter(experiment__design=design).measured().select_related("system__instance", "result")
    unread_fields = ("spec", "system__description", "result__measures", "result__remarks")
    return list(rows.defer(*unread_fields).order_by("experiment", "position"))


def systems(design: Design) -> list[ExperimentSystem]:
    """Return the systems of each part, in the order of the plan."""
    rows = ExperimentSystem.objects.filter(experiment__design=design)
    return list(rows.select_related("system").defer("system__description").order_by("experiment", "position"))
