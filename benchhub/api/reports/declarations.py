"""Declarations that different protocols may be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.api.core import json_forms, problems
from benchhub.api.core.json_forms import Strict
from benchhub.api.core.views import ReadView, RowSerializer
from benchhub.bench.models import Comparability
from benchhub.reports.comparison import comparison as comparisons
from benchhub.reports.comparison import declared
from benchhub.reports.comparison.entries import Entry
from benchhub.reports.comparison.state import MOST, State


class DeclarationRequest(Strict):
    curves = drf.ListField(
        child=drf.CharField(max_length=40),
        min_length=2,
        max_length=MOST,
        help_text="Each experiment-system.",
    )
    reason = json_forms.json_field(declared.DeclarationForm.base_fields["reason"])


class Declaration(RowSerializer):
    """A person's word that two protocols may be compared. `first` and `second` are their digests."""

    declared_by = drf.SlugRelatedField(slug_field="username", read_only=True)
    withdrawn_by = drf.SlugRelatedField(slug_field="username", read_only=True, allow_null=True)

    class Meta:
        model = Comparability
        fields = (
            "id", "url", "first", "second", "reason", "declared_by", "declared_at", "withdrawn_by", "withdrawn_at",
        )  # fmt: skip


class Declarations(ReadView):
    queryset = Comparability.objects.select_related("declared_by", "withdrawn_by").order_by("pk")
    serializer_class = Declaration
    write_scope = "run"
    filterset_fields: ClassVar[Any] = {"withdrawn_at": ["isnull"], "declared_at": ["gte", "lte"]}

    @extend_schema(request=DeclarationRequest, responses={201: Declaration(many=True)})
    def create(self, request: Request) -> Response:
        """Declare the protocols of these curves comparable, with a reason that stands wherever they are compared."""
        sent = json_forms.checked(DeclarationRequest, request.data)
        form = declared.DeclarationForm(json_forms.texts({"reason": sent["reason"]}))
        if not form.is_valid():
            raise problems.invalid(problems.of_form(form))
        groups = _unlike(sent["curves"])
        declared.declare(groups, form.cleaned_data["reason"], request.user)
        rows = Comparability.objects.among({group[0].curve.protocol_digest for group in groups})
        return Response(self.get_serializer(rows, many=True).data, status=201)

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def withdraw(self, request: Request, pk: str) -> Response:
        """Withdraw it: the curves that it held together are refused again. It stays on record.

        Who declared it withdraws it, or an administrator."""
        if not declared.withdraw(self.get_object(), request.user):
            raise problems.Problem(409, "It was withdrawn already.")
        return Response(self.get_serializer(self.get_object()).data)


def _unlike(curves: Sequence[str]) -> list[list[Entry]]:
    """Return the curves by protocol. Raises a problem where there is nothing to declare, or where nothing may be."""
    comparison = comparisons.Comparison.load(State.of_curves(curves))
    if len(comparison.curves) < len(curves):
        sentence = " ".join(comparison.problems) or "One of them is named twice: name each once, as experiment-system."
        raise problems.invalid([{"pointer": "/curves", "detail": sentence}])
    if len(comparison.groups) < 2:
        raise problems.Problem(409, "They have the same protocol: they are compared as they are.")
    if not declared.may_be_declared(comparison.groups):
        raise problems.Problem(409, "Unlike units are never compared, whatever anybody declares.")
    return comparison.groups
