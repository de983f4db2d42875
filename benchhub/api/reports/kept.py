"""Comparisons that are kept under a title."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.db.models import Count
from django.db.models.functions import Now
from django.http import QueryDict
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.words import listing
from benchhub.api.core import problems
from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import AddView, RowSerializer
from benchhub.reports import models
from benchhub.reports.comparison.state import MOST, PARAMETERS, State
from benchhub.reports.prices.terms import terms
from benchhub.reports.sharing import publish
from benchhub.reports.sharing.document.comparison import NothingToPublishError
from benchhub.reports.sharing.forms import ComparisonForm

from .common import BY
from .snapshots import Snapshot, published_answer


class KeptForm(ComparisonForm):
    """The form of the page, with a field for what the page takes from its own address."""

    query = forms.CharField(
        max_length=1000,
        help_text="Curves, baseline and terms as in the address of the page: curve=3-7&curve=3-8&baseline=3-7&term=3",
    )

    class Meta(ComparisonForm.Meta):
        fields: Any = ("title", "remarks", "query")

    def clean_query(self) -> str:
        query = QueryDict(self.cleaned_data["query"])
        if unknown := sorted(set(query) - set(PARAMETERS)):
            raise forms.ValidationError(f"There is no such parameter: {listing(unknown)}.")
        state = State.read(query)
        if len(state.keys) < max(1, len(query.getlist("curve"))):
            raise forms.ValidationError(f"Name 1 to {MOST} curves, each as experiment-system: curve=3-7.")
        if problems := terms(query).problems:
            raise forms.ValidationError(list(dict(problems).values()))
        return state.query.urlencode()


class KeptComparison(RowSerializer):
    created_by = drf.SlugRelatedField(**BY)
    snapshot_count = drf.IntegerField(read_only=True)

    class Meta:
        model = models.Comparison
        fields = (
            "id", "url", "title", "remarks", "query", "snapshot_count", "created_by", "created_at", "changed_at",
        )  # fmt: skip


class KeptComparisons(AddView):
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

    def blank_form(self, instance: Any = None) -> Any:
        return KeptForm(instance=instance)

    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the fields that are sent; what was published before stays as it was."""
        row = self.get_object()
        publish.require_maker(request.user, row)
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
            published = publish.comparison_snapshot(row, request.user)
        except NothingToPublishError as error:
            raise problems.Problem(409, f"Not published. {error}") from error
        return published_answer(self, published)
