"""Comparisons that are kept, what is published of them, and the links that share it: as on their pages."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.db.models import Count
from django.db.models.functions import Now
from django.http import HttpResponse, QueryDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.snapshot import canonical
from benchhub.reports import models
from benchhub.reports.comparison.state import MOST, PARAMETERS, State
from benchhub.reports.prices.terms import terms
from benchhub.reports.published.files import Report, find, reports
from benchhub.reports.sharing import publish, today
from benchhub.reports.sharing.document.comparison import NothingToPublishError
from benchhub.reports.sharing.forms import ComparisonForm, LinkForm
from benchhub.reports.sharing.output import exports, pdf

from .core import json_forms, problems
from .core.json_forms import serializer_of
from .core.views import FILE, Added, Read, Shown, View

DOCUMENT = {(200, "application/json"): OpenApiTypes.OBJECT}
TYPES = sorted({name.partition(";")[0] for name in exports.TYPES.values()})
FILES = {(200, name): OpenApiTypes.OBJECT if name == "application/json" else OpenApiTypes.BINARY for name in TYPES}
NAME = OpenApiParameter(
    "name",
    OpenApiTypes.STR,
    OpenApiParameter.PATH,
    description="data.json, page.html, report.html (offline), page.pdf, report.pdf, the id of a table with .csv, or of "
    "a bundle with .tar.gz. Another name is answered with those there are.",
)
SLUG = OpenApiParameter("id", OpenApiTypes.STR, OpenApiParameter.PATH, description="Its name in addresses.")
BY = {"slug_field": "username", "read_only": True, "allow_null": True}


class KeptForm(ComparisonForm):
    """What the page takes from its own address is a field here."""

    query = forms.CharField(
        max_length=1000,
        help_text="Curves, baseline and terms as in the address of the page: curve=3-7&curve=3-8&baseline=3-7&term=3",
    )

    class Meta(ComparisonForm.Meta):
        fields: Any = ("title", "remarks", "query")

    def clean_query(self) -> str:
        asked = QueryDict(self.cleaned_data["query"])
        if unknown := sorted(set(asked) - set(PARAMETERS)):
            raise forms.ValidationError(f"There is no such parameter: {', '.join(unknown)}.")
        state = State.read(asked)
        if len(state.keys) < max(1, len(asked.getlist("curve"))):
            raise forms.ValidationError(f"Name 1 to {MOST} curves, each as experiment-system: curve=3-7.")
        if found := terms(asked).problems:
            raise forms.ValidationError(list(dict(found).values()))
        return state.query.urlencode()


class KeptComparison(Shown):
    created_by = drf.SlugRelatedField(**BY)
    snapshot_count = drf.IntegerField(read_only=True)

    class Meta:
        model = models.Comparison
        fields = (
            "id", "url", "title", "remarks", "query", "snapshot_count", "created_by", "created_at", "changed_at",
        )  # fmt: skip


class Snapshot(Shown):
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


class Link(Shown):
    created_by = drf.SlugRelatedField(**BY)
    hidden = drf.ListField(child=drf.CharField(), source="projection.hidden", read_only=True, help_text="Left out.")
    state = drf.ChoiceField(choices=["open", "paused", "expired", "revoked"], read_only=True)
    has_password = drf.BooleanField(source="password", read_only=True)

    class Meta:
        model = models.Link
        fields: Any = (
            "id", "url", "snapshot", "name", "hidden", "state", "has_password", "embedded_by", "expires_at",
            "paused_at", "revoked_at", "views", "viewed_at", "created_by", "created_at",
        )  # fmt: skip


class LinkMade(Link):
    address = drf.SerializerMethodField(help_text="Shown this once: it is kept nowhere, and null in a repeated answer.")

    class Meta(Link.Meta):
        fields: Any = (*Link.Meta.fields, "address")

    def get_address(self, _row: Any) -> str | None:
        return str(self.context["address"])


class PublishedReport(drf.Serializer):
    id = drf.CharField(source="about.slug")
    title = drf.CharField(source="about.title")
    document = drf.CharField(source="about.document")
    dated = drf.CharField(source="about.dated")
    findings = drf.ListField(child=drf.CharField(), help_text="What of it does not survive a recomputation.")


LINK = serializer_of(LinkForm, "LinkRequest")


class KeptComparisons(Added):
    queryset = (
        models.Comparison.objects.select_related("created_by")
        .annotate(snapshot_count=Count("snapshots"))
        .order_by("pk")
    )
    serializer_class = KeptComparison
    takes = serializer_of(KeptForm, "KeptComparisonRequest")
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {
        "title": ["exact", "icontains"], "created_by__username": ["exact"], "changed_at": ["gte", "lte"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "title", "changed_at")
    search_fields = ("title", "remarks")

    def form(self, values: dict[str, Any], instance: Any = None) -> Any:
        return KeptForm(values, instance=instance or models.Comparison(created_by=self.request.user))

    def blank(self, instance: Any = None) -> Any:
        return KeptForm(instance=instance)

    def partial_update(self, request: Request, pk: str) -> Response:
        """What was published before stays as it was."""
        row = self.get_object()
        self.require_unchanged(row)
        values = self.changed_values(row, request)
        row.changed_at = Now()
        self.save(values, row)
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=None, responses={201: Snapshot})
    @action(detail=True, methods=["post"])
    def publish(self, request: Request, pk: str) -> Response:
        """Freeze it as it is now: a snapshot, in which later edits change nothing."""
        row = self.get_object()
        try:
            made = publish.comparison_snapshot(row, request.user)
        except NothingToPublishError as error:
            raise problems.Problem(409, f"Not published. {error}") from error
        return _taken(self, made)


def _taken(view: View, made: models.Snapshot) -> Response:
    row = models.Snapshot.objects.for_list().get(pk=made.pk)
    data = Snapshot(row, context=view.get_serializer_context()).data
    return Response(data, status=201, headers={"Location": data["url"]})


class Snapshots(Read):
    queryset = models.Snapshot.objects.for_list()
    serializer_class = Snapshot
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {
        "comparison": ["exact", "isnull"], "published": ["exact"], "sha256": ["exact"], "taken_at": ["gte", "lte"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "taken_at")
    told_once = ("address",)
    search_fields = ("title",)

    @extend_schema(responses=DOCUMENT)
    @action(detail=True, **FILE)
    def document(self, request: Request, pk: str) -> HttpResponse:
        """All of it, as docs/snapshots.md describes: the bytes of the page's data.json."""
        return exports.made(publish.projection(self.get_object(), ()), exports.JSON_FILE).response

    @extend_schema(parameters=[NAME], responses=FILES)
    @action(detail=True, url_path=r"files/(?P<name>[^/]{1,80})", **FILE)
    def files(self, request: Request, pk: str, name: str) -> HttpResponse:
        """It as a file: offline HTML, PDF, CSV of a table, JSON, or what repeats a run without BenchHub."""
        try:
            return exports.made(publish.projection(self.get_object(), ()), name).response
        except exports.NoFileError as error:
            raise problems.Problem(404, str(error)) from error
        except pdf.NoPdfError as error:
            raise problems.Problem(501, str(error), remedy="Take page.html and print it from a browser.") from error

    @extend_schema(responses=Difference(many=True))
    @action(detail=True, pagination_class=None, filter_backends=[])
    def today(self, request: Request, pk: str) -> Response:
        """Its throughput by today's prices, beside those that are frozen."""
        frozen = canonical.from_bytes(bytes(self.get_object().content))
        return Response(Difference(today.differences(frozen), many=True).data)

    @extend_schema(request=LINK, responses={201: LinkMade})
    @action(detail=True, methods=["post"])
    def links(self, request: Request, pk: str) -> Response:
        """Make a link. Its address is answered this once, and kept nowhere: a repeated answer has null."""
        of, sent = self.get_object(), json_forms.checked(LINK, request.data)
        form = LinkForm({**json_forms.present(LinkForm()), **json_forms.texts(sent)})
        if not form.is_valid():
            raise problems.invalid(problems.of_form(form))
        given = form.cleaned_data
        row, token = publish.link(of, given["hidden"], given["password"], request.user, **form.fields_of_link)
        address = request.build_absolute_uri(f"/s/{token}/")
        data = LinkMade(row, context={**self.get_serializer_context(), "address": address}).data
        return Response(data, status=201, headers={"Location": data["url"]})


class Links(Read):
    queryset = models.Link.objects.for_sharing().select_related("created_by").order_by("pk")
    serializer_class = Link
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {
        "snapshot": ["exact"], "name": ["exact", "icontains"], "revoked_at": ["isnull"], "paused_at": ["isnull"],
    }  # fmt: skip

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:
        return self._changed(paused_at=Now())

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        return self._changed(paused_at=None)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def revoke(self, request: Request, pk: str) -> Response:
        """Whoever has it sees nothing from now on; it cannot be opened again."""
        return self._changed(revoked_at=Now())

    def _changed(self, **fields: Any) -> Response:
        row = self.get_object()
        if not models.Link.objects.filter(pk=row.pk, revoked_at=None).update(**fields):
            raise problems.Problem(409, "It is revoked, and stays so.")
        return Response(self.get_serializer(self.get_object()).data)


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

    @extend_schema(parameters=[SLUG])
    def retrieve(self, request: Request, pk: str) -> Response:
        return Response(self.get_serializer(_report(pk)).data)

    @extend_schema(parameters=[SLUG], responses=DOCUMENT)
    @action(detail=True, **FILE)
    def document(self, request: Request, pk: str) -> HttpResponse:
        """All that its page shows, in the format of a snapshot (docs/snapshots.md); nothing is frozen."""
        return HttpResponse(publish.published_now(_report(pk)), content_type="application/json")

    @extend_schema(parameters=[SLUG], request=None, responses={201: Snapshot})
    @action(detail=True, methods=["post"])
    def publish(self, request: Request, pk: str) -> Response:
        """Freeze it as a snapshot, whose document holds every figure of it."""
        return _taken(self, publish.published_snapshot(_report(pk), request.user))


def _report(slug: str) -> Report:
    return find(slug)
