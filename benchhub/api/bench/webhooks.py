"""Webhooks, and what each was told. The secret is in the answer to the request that makes one, and nowhere else."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from benchhub.api.core import json_forms, problems
from benchhub.api.core.json_forms import serializer_of
from benchhub.api.core.views import AddView, ReadView, RowSerializer
from benchhub.bench.models import Notice, Webhook
from benchhub.bench.webhooks import notices
from benchhub.bench.webhooks.forms import WebhookForm
from benchhub.ui.acts import explain_form


class WebhookShown(RowSerializer):
    created_by = drf.SlugRelatedField(slug_field="username", read_only=True)

    class Meta:
        model = Webhook
        fields: Any = ("id", "address", "name", "target", "events", "is_active", "created_by", "created_at")

    address = drf.SerializerMethodField(method_name="get_url", help_text="Of the webhook in this API.")
    target = drf.CharField(source="url", read_only=True, help_text="What is told.")
    url = None


class WebhookMade(WebhookShown):
    secret = drf.CharField(
        read_only=True, allow_null=True, help_text="Signs what is sent; shown this once, and null in a repeated answer."
    )

    class Meta(WebhookShown.Meta):
        fields: Any = (*WebhookShown.Meta.fields, "secret")


class NoticeShown(RowSerializer):
    class Meta:
        model = Notice
        fields = (
            "id", "url", "uuid", "webhook", "event", "experiment", "run", "payload", "state", "attempts", "next_at",
            "sent_at", "status", "error", "created_at",
        )  # fmt: skip


class Webhooks(AddView):
    queryset = Webhook.objects.select_related("created_by").order_by("pk")
    serializer_class = WebhookShown
    form_class = WebhookForm
    takes = serializer_of(WebhookForm, "WebhookRequest")
    read_scope = "admin"
    secret_fields = ("secret",)
    filterset_fields: ClassVar[Any] = {"name": ["exact"], "is_active": ["exact"]}

    def save(self, values: dict[str, Any], instance: Any = None) -> Any:
        form = self.form(values, instance)
        if not form.is_valid() or (row := form.saved_by(self.request)) is None:
            raise problems.invalid(problems.of_form(form))
        explain_form(self.request, form)
        return row

    @extend_schema(responses={201: WebhookMade})
    def create(self, request: Request) -> Response:
        sent = json_forms.checked(self.takes, request.data)
        row = self.save({**json_forms.form_values(self.blank_form()), **json_forms.texts(sent)})
        data = WebhookMade(row, context=self.get_serializer_context()).data
        return Response(data, status=201, headers={"Location": data["address"]})

    def partial_update(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        self.require_unchanged(row)
        return Response(self.get_serializer(self.save(self.changed_values(row, request), row)).data)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        notices.delete_webhook(self.get_object().pk)
        return Response(status=204)


class Notices(ReadView):
    """A notice says what a webhook was told, and what came of it."""

    queryset = Notice.objects.order_by("pk")
    serializer_class = NoticeShown
    read_scope = "admin"
    filterset_fields: ClassVar[Any] = {
        "webhook": ["exact"], "event": ["exact"], "state": ["exact"], "experiment": ["exact"], "run": ["exact"],
        "created_at": ["gte", "lte"],
    }  # fmt: skip
    ordering_fields: ClassVar[Any] = ("id", "created_at")
