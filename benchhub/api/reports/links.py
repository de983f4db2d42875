"""Links that share a snapshot."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models.functions import Now
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers as drf
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.analysis.words import count
from benchhub.api.core import problems
from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import ReadView, RowSerializer
from benchhub.reports import models
from benchhub.reports.sharing import publish
from benchhub.reports.sharing.forms import LinkForm
from benchhub.reports.sharing.review import Review, Typed

from .common import BY


class Link(RowSerializer):
    created_by = drf.SlugRelatedField(**BY)
    hidden = drf.ListField(child=drf.CharField(), source="projection.hidden", read_only=True, help_text="Left out.")
    state = drf.ChoiceField(choices=["open", "paused", "expired", "revoked"], read_only=True)
    has_password = drf.BooleanField(source="password", read_only=True)

    class Meta:
        model = models.Link
        fields: Any = (
            "id", "url", "snapshot", "name", "hidden", "state", "has_password", "embedded_by", "choices", "expires_at",
            "paused_at", "revoked_at", "views", "viewed_at", "created_by", "created_at",
        )  # fmt: skip


class LinkMade(Link):
    address = drf.SerializerMethodField(help_text="Shown this once: it is kept nowhere, and null in a repeated answer.")

    class Meta(Link.Meta):
        fields: Any = (*Link.Meta.fields, "address")

    def get_address(self, _row: Any) -> str | None:
        return str(self.context["address"])


class Links(ReadView):
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
        """Withdraw it for good: whoever has it sees nothing from now on."""
        return self._changed(revoked_at=Now())

    def _changed(self, **fields: Any) -> Response:
        row = self.get_object()
        if sentence := publish.refusal(row, self.request.user):
            raise problems.Problem(403, sentence)
        if not models.Link.objects.filter(pk=row.pk, revoked_at=None).update(**fields):
            raise problems.Problem(409, "It is revoked, and stays so.")
        return Response(self.get_serializer(self.get_object()).data)


LINK = serializer_of(
    LinkForm,
    "LinkRequest",
    reviewed=drf.CharField(max_length=64, help_text="The digest of the review that was read for this link."),
)


class Mark(drf.Serializer):
    text = drf.CharField()
    why = drf.CharField()


class TypedText(drf.Serializer):
    where = drf.CharField()
    text = drf.CharField()
    marks = drf.SerializerMethodField()

    @extend_schema_field(Mark(many=True))
    def get_marks(self, text: Typed) -> Any:
        return Mark([part for part in text.parts if part.why], many=True).data


class ReviewShown(drf.Serializer):
    """What people typed and hosts sent, as readers of a link will see it; what may tell too much is marked."""

    hidden = drf.ListField(child=drf.CharField())
    digest = drf.CharField(help_text="Send it as `reviewed`: it says that these texts were read.")
    marked_count = drf.IntegerField()
    texts = TypedText(many=True)


def unread(review: Review) -> problems.Problem:
    """Return the answer to a link that is asked for before its texts were read."""
    marks = [(text.where, part) for text in review.texts for part in text.parts if part.why]
    detail = f"Nobody has read what this link will tell; {count(len(marks), 'place')} in it stand out."
    errors = [{"pointer": "/reviewed", "detail": f"{where}: '{part.text}' {part.why}."} for where, part in marks]
    remedy = "Read `review/` of the snapshot with the same `hidden`, then send its digest as `reviewed`."
    return problems.Problem(422, detail, errors or [{"pointer": "/reviewed", "detail": detail}], remedy)
