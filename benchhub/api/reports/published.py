"""Published reports of others, recomputed."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.published import VERDICTS
from benchhub.api.core.views import FILE, View
from benchhub.reports.published.files import find, reports
from benchhub.reports.sharing import publish

from .common import DOCUMENT
from .snapshots import Snapshot, published_answer

SLUG = OpenApiParameter("id", OpenApiTypes.STR, OpenApiParameter.PATH, description="Its name in addresses.")


class PublishedReport(drf.Serializer):
    id = drf.CharField(source="about.slug")
    title = drf.CharField(source="about.title")
    document = drf.CharField(source="about.document")
    dated = drf.CharField(source="about.dated")
    findings = drf.ListField(child=drf.CharField(), help_text="What of it does not survive a recomputation.")


class PublishedCheck(drf.Serializer):
    """A number of the report against what follows from its others; both with the interval that rounding leaves."""

    section = drf.CharField()
    group = drf.CharField()
    what = drf.CharField(source="subject")
    unit = drf.CharField()
    published = drf.CharField(help_text="As it is printed.")
    published_value = drf.CharField(source="value")
    published_low = drf.CharField(help_text="The lowest number that may have been printed like that.")
    published_high = drf.CharField()
    computed = drf.CharField()
    computed_low = drf.CharField(help_text="The lowest number that the printed inputs leave.")
    computed_high = drf.CharField()
    verdict = drf.ChoiceField(VERDICTS)
    why = drf.CharField()


class PublishedReportInFull(PublishedReport):
    checks = PublishedCheck(many=True)


class PublishedReports(View):
    """The reports that are shipped."""

    pagination_class = None
    filter_backends = ()
    serializer_class = PublishedReport
    write_scope = "run"
    lookup_value_regex = "[a-z0-9-]+"

    @extend_schema(responses=PublishedReport(many=True))
    def list(self, request: Request) -> Response:
        return Response(self.get_serializer(reports(), many=True).data)

    @extend_schema(parameters=[SLUG], responses=PublishedReportInFull)
    def retrieve(self, request: Request, pk: str) -> Response:
        return Response(PublishedReportInFull(find(pk)).data)

    @extend_schema(parameters=[SLUG], responses=DOCUMENT)
    @action(detail=True, **FILE)
    def document(self, request: Request, pk: str) -> HttpResponse:
        """Return all that its page shows, in the format of a snapshot (docs/snapshots.md); nothing is frozen."""
        return HttpResponse(publish.published_now(find(pk)), content_type="application/json")

    @extend_schema(parameters=[SLUG], request=None, responses={201: Snapshot})
    @action(detail=True, methods=["post"])
    def publish(self, request: Request, pk: str) -> Response:
        """Freeze it as a snapshot, whose document holds every figure of it."""
        return published_answer(self, publish.published_snapshot(find(pk), request.user))
