"""The form of a webhook."""

from __future__ import annotations

import secrets

from django import forms
from django.http import HttpRequest

from benchhub.bench.models import Webhook
from benchhub.catalog.shared.forms import CatalogForm

from . import post


class WebhookForm(CatalogForm):
    url = forms.CharField(
        max_length=500,
        label="Address",
        help_text="What is sent there is JSON, by POST. Private addresses must be in WEBHOOK_NETWORKS.",
    )
    events = forms.MultipleChoiceField(
        choices=Webhook.On.choices,
        widget=forms.CheckboxSelectMultiple,
        label="Told when",
        error_messages={"required": "Choose at least one."},
    )
    is_active = forms.BooleanField(required=False, initial=True, label="Active")

    class Meta:
        model = Webhook
        fields = ("name", "url", "events", "is_active")
        error_messages = {"name": {"unique": "There is already a webhook of this name: choose another one."}}

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        try:
            post.checked(url)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error
        return url

    def saved_by(self, request: HttpRequest) -> Webhook | None:
        """Save the webhook and return it, or None where it cannot be saved; a new one gets its secret."""
        if self.instance.pk is None:
            self.instance.created_by, self.instance.secret = request.user, secrets.token_urlsafe(32)
        self.instance.origin = request.build_absolute_uri("/").rstrip("/")[:300]
        webhook: Webhook | None = self.saved()
        return webhook
