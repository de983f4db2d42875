"""Snapshots of comparisons and of published reports, with their files and links."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.snapshot import canonical
from benchhub.analysis.snapshot.projection import CLASSES
from benchhub.api.core import json_forms, problems
from benchhub.api.core.views import FILE, ReadView, RowSerializer, View, parameter_problem
from benchhub.reports import models
from benchhub.reports.sharing import publish, today
from benchhub.reports.sharing.choices.edition import Reading
from benchhub.reports.sharing.forms import USUALLY_HIDDEN, LinkForm
from benchhub.reports.sharing.output import exports, pdf
from benchhub.reports.sharing.review import Review
from benchhub.ui.acts import explain

from .common import BY, DOCUMENT
from .links import LINK, LinkMade, ReviewShown, unread

TYPES = sorted({name.partition(";")[0] for name in exports.TYPES.values()})


FILES = {(200, name): OpenApiTypes.OBJECT if name == "application/json" else OpenApiTypes.BINARY for name in TYPES}


NAME = OpenApiParameter(
    "name",
    OpenApiTypes.STR,
    OpenApiParameter.PATH,
    description="data.json, page.html, report.html (offline), page.pdf, report.pdf, the id of a table with .csv, or of "
    "a bundle with .tar.gz. Another name is answered with those there are.",
)


HIDDEN = OpenApiParameter(
    "hidden",
    OpenApiTypes.STR,
    many=True,
    enum=list(CLASSES),
    description="What the link is to leave out; empty for nothing. Left out: as the page has ticked.",
)


class Snapshot(RowSerializer):
    """`published` names the report that it is of, where it is of no comparison."""

    taken_by = drf.SlugRelatedField(**BY)
    link_count = drf.IntegerField(read_only=True, help_text="Links that still lead to it.")

    class Meta:
        model = models.Snapshot
        fields = ("id", "url", "comparison", "published", "title", "sha256", "taken_by", "taken_at", "link_count")


class Difference(drf.Serializer):
    """Money for one unit of throughput as decimal text; `refusal` says why there is no price today."""

    label = drf.CharField()
    licence = drf.CharField()
    unit = drf.CharField()
    then = drf.CharField()
    now = drf.CharField(allow_null=True)
    currency = drf.CharField(allow_blank=True)
    percent = drf.CharField(allow_null=True, help_text="How far the total has moved.")
    refusal = drf.CharField(allow_blank=True)


def published_answer(view: View, snapshot: models.Snapshot) -> Response:
    row = models.Snapshot.objects.for_list().get(pk=snapshot.pk)
    data = Snapshot(row, context=view.get_serializer_context()).data
    return Response(data, status=201, headers={"Location": data["url"]})


class Snapshots(ReadView):
    queryset = models.Snapshot.objects.for_list()
    serializer_class = Snapshot
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {
        "comparison": ["exact", "isnull"], "published": ["exact"], "sha256": ["exact"], "taken_at": ["gte", "lte"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "taken_at")
    secret_fields = ("address",)
    search_fields = ("title",)

    @extend_schema(responses=DOCUMENT)
    @action(detail=True, **FILE)
    def document(self, request: Request, pk: str) -> HttpResponse:
        """Return all of it, as docs/snapshots.md describes: the bytes of the page's data.json."""
        return self._made(exports.JSON_FILE).response

    @extend_schema(parameters=[NAME], responses=FILES)
    @action(detail=True, url_path=r"files/(?P<name>[^/]{1,80})", **FILE)
    def files(self, request: Request, pk: str, name: str) -> HttpResponse:
        """Return it as a file: offline HTML, PDF, CSV of a table, JSON, or what repeats a run without BenchHub."""
        try:
            return self._made(name).response
        except exports.NoFileError as error:
            raise problems.Problem(404, str(error)) from error
        except pdf.NoPdfError as error:
            raise problems.Problem(501, str(error), remedy="Take page.html and print it from a browser.") from error

    def _made(self, name: str) -> exports.Made:
        snapshot = self.get_object()
        return exports.made(publish.projection(snapshot, ()), name, Reading.whole(snapshot.pk))

    @extend_schema(responses=Difference(many=True))
    @action(detail=True, pagination_class=None, filter_backends=[])
    def today(self, request: Request, pk: str) -> Response:
        """Price its throughput by today's prices, beside those that are frozen."""
        frozen = canonical.from_bytes(bytes(self.get_object().content))
        return Response(Difference(today.differences(frozen), many=True).data)

    @extend_schema(parameters=[HIDDEN], responses=ReviewShown)
    @action(detail=True, pagination_class=None, filter_backends=[])
    def review(self, request: Request, pk: str) -> Response:
        """Return what people typed and hosts sent, as the reader of a link will see it.

        A link is made with the digest of this.
        """
        names = request.query_params.getlist("hidden", list(USUALLY_HIDDEN))
        hidden = [name for name in CLASSES if name in names]
        if len(hidden) != len([name for name in names if name]):
            raise parameter_problem("hidden", f"hidden is one of {', '.join(CLASSES)}, and may be repeated.")
        return Response(ReviewShown(Review(self.get_object(), hidden)).data)

    @extend_schema(request=LINK, responses={201: LinkMade})
    @action(detail=True, methods=["post"])
    def links(self, request: Request, pk: str) -> Response:
        """Make a link. Its address is answered this once, and kept nowhere: a repeated answer has null."""
        snapshot, sent = self.get_object(), json_forms.checked(LINK, request.data)
        reviewed = sent.pop("reviewed")
        form = LinkForm({**json_forms.form_values(LinkForm()), **json_forms.texts(sent)}, snapshot=snapshot)
        if not form.is_valid():
            raise problems.invalid(problems.of_form(form))
        cleaned = form.cleaned_data
        if (review := Review(snapshot, cleaned["hidden"])).digest != reviewed:
            raise unread(review)
        row, token = publish.link(snapshot, cleaned["hidden"], cleaned["password"], request.user, **form.fields_of_link)
        explain(request, publish.words(row))
        address = request.build_absolute_uri(f"/s/{token}/")
        data = LinkMade(row, context={**self.get_serializer_context(), "address": address}).data
        return Response(data, status=201, headers={"Location": data["url"]})
