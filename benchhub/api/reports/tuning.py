"""Curves read as a series of tuning steps, as on their page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.curves.ratio import VERDICTS
from benchhub.analysis.curves.tuning import NoTuningError
from benchhub.api.core import problems
from benchhub.api.core.views import View
from benchhub.reports.comparison import tuning
from benchhub.reports.comparison.comparison import Comparison

from .comparisons import require_whole, state_of, wrong

PARAMETERS = [
    OpenApiParameter(
        "curve", OpenApiTypes.STR, required=True, many=True, description="experiment-system; the first is the baseline."
    ),
    OpenApiParameter("way", OpenApiTypes.STR, enum=list(tuning.WAYS), description="Left out: cumulative."),
    OpenApiParameter("clients", OpenApiTypes.INT64, description="At this level; left out: at the peaks."),
]


class Effect(drf.Serializer):
    """A ratio of geometric means with its 95% interval."""

    ratio = drf.FloatField(source="value")
    lowest = drf.FloatField()
    highest = drf.FloatField()
    kind = drf.CharField(help_text="What lowest and highest are the ends of.")
    p = drf.FloatField(allow_null=True)
    p_of_several = drf.FloatField(source="adjusted_p", allow_null=True)
    n = drf.IntegerField()
    before_n = drf.IntegerField(source="baseline_n")


class Step(drf.Serializer):
    number = drf.IntegerField()
    label = drf.CharField(source="entry.label")
    key = drf.CharField(source="entry.key")
    changed = drf.CharField(source="changes", allow_blank=True)
    effect = Effect()
    verdict = drf.ChoiceField(choices=VERDICTS)
    running = drf.FloatField(help_text="How many times the baseline all steps up to here make.")


class TuningSeries(drf.Serializer):
    baseline = drf.CharField(source="baseline.label")
    way = drf.CharField(source="tuning.way")
    steps = Step(many=True)
    total = Effect(source="tuning.total")
    is_measured = drf.BooleanField(source="tuning.is_measured", help_text="Otherwise the product of single effects.")
    sentence = drf.CharField()


class TuningSteps(View):
    pagination_class = None
    filter_backends = ()
    serializer_class = TuningSeries

    @extend_schema(parameters=PARAMETERS, responses=forced_singular_serializer(TuningSeries))
    def list(self, request: Request) -> Response:
        """Return what each of a series of curves gained on the one before, and all of them together."""
        query = request._request.GET
        state = state_of(query, {"way", "clients"})
        if faults := _faults(query):
            raise wrong(faults)
        comparison = Comparison.load(state)
        require_whole(comparison)
        try:
            series = tuning.series(comparison, tuning.way_of(query), query.get("clients", ""))
        except NoTuningError as error:
            raise problems.Problem(409, str(error)) from error
        return Response(TuningSeries(series).data)


def _faults(query: Mapping[str, Any]) -> dict[str, str]:
    """Find what a page would pass over in silence: a sentence by parameter."""
    faults = {}
    if query.get("way", "cumulative") not in tuning.WAYS:
        faults["way"] = f"Choose {' or '.join(tuning.WAYS)}."
    clients = query.get("clients", "1")
    if not (clients.isascii() and clients.isdecimal() and len(clients) < 10):
        faults["clients"] = "Write a number of clients that all curves have."
    return faults
