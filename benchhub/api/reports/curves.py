"""Curves that may be chosen for a comparison, found by the same marks as on the page that chooses them."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import F, QuerySet
from rest_framework import mixins
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.api.core.views import View
from benchhub.bench.models import ExperimentSystem
from benchhub.reports.comparison import queries
from benchhub.reports.comparison.entries import key_of


class FinishedCurve(drf.Serializer):
    """A curve that one experiment measured of one system; none of its runs is still to come."""

    key = drf.SerializerMethodField(help_text="Names the curve in a comparison: experiment-system.")
    experiment = drf.IntegerField(source="experiment_id")
    experiment_name = drf.CharField(source="experiment.name")
    system = drf.IntegerField(source="system_id")
    label = drf.CharField(source="system.label")
    workload = drf.IntegerField(source="experiment.workload_id")
    workload_name = drf.CharField(source="experiment.workload")
    host = drf.CharField(source="system.instance.host.name", default=None, allow_null=True, help_text="Of the server.")
    duration_s = drf.IntegerField(source="experiment.duration_s")
    warmup_s = drf.IntegerField(source="experiment.warmup_s")
    created_at = drf.DateTimeField(help_text="When the experiment was planned.")
    result_count = drf.IntegerField(help_text="Runs with a result.")
    planned_count = drf.IntegerField(help_text="Measuring runs that were planned.")
    peak_clients = drf.IntegerField(allow_null=True)
    peak_throughput = drf.FloatField(allow_null=True, help_text="The highest geometric mean of a level.")
    unit = drf.CharField(allow_null=True)

    def get_key(self, row: ExperimentSystem) -> str:
        return key_of(row)


class Curves(mixins.ListModelMixin, View):
    queryset = queries.finished().annotate(created_at=F("experiment__created_at")).order_by("pk")
    serializer_class = FinishedCurve
    filterset_fields: ClassVar[Any] = {
        "experiment": ["exact"], "experiment__name": ["exact", "icontains"], "experiment__workload": ["exact"],
        "experiment__tags__name": ["exact"], "experiment__created_at": ["gte", "lte"],
        "system": ["exact"], "system__label": ["exact", "icontains"], "system__instance__host": ["exact", "isnull"],
        "system__build": ["exact"], "system__configuration": ["exact"], "system__hardware": ["exact"],
    }  # fmt: skip
    ordering_fields = ("id", "created_at", "result_count")
    search_fields = queries.SEARCH

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List finished curves, to be named in comparisons by their keys."""
        return super().list(request, *args, **kwargs)

    def paginate_queryset(self, queryset: QuerySet[ExperimentSystem]) -> Any:
        """Return a page of curves with their peaks, by one query."""
        rows: Any = super().paginate_queryset(queryset)
        peaks = queries.peaks([(row.experiment_id, row.system_id) for row in rows])
        for row in rows:
            peak = peaks.get((row.experiment_id, row.system_id))
            row.peak_clients, row.peak_throughput, row.unit = (
                (peak.clients, peak.throughput, peak.unit) if peak else (None, None, None)
            )
        return rows
