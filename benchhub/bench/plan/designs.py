"""Pages of designs: the presets that a plan may start from, and the parts of a design that was queued."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet

from benchhub.bench.models import Design, Experiment, Run
from benchhub.bench.models.states import FINAL


def parts(design: Design) -> QuerySet[Experiment, Experiment]:
    """Return the experiments of a design in their order, each with the numbers of its runs, in one query."""
    measuring = Q(runs__kind=Run.Kind.MEASURE)
    return (
        Experiment.objects.with_host_keys()
        .filter(design=design)
        .select_related("workload")
        .annotate(
            planned_count=Count("runs", filter=measuring),
            ended_count=Count("runs", filter=measuring & Q(runs__state__in=FINAL)),
            load_count=Count("runs", filter=Q(runs__kind=Run.Kind.LOAD)),
        )
        .order_by("pk")
    )
