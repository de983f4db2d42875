"""Forms to keep a comparison, and to make a link."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone

from benchhub.analysis.snapshot import canonical
from benchhub.analysis.snapshot.projection import CLASSES
from benchhub.catalog.shared.forms import CatalogForm
from benchhub.reports.models import Comparison, Link, Snapshot

from .choices.choice import OPEN
from .frozen.pricing import is_frozen

EXPIRIES = {"7": "in a week", "30": "in 30 days", "90": "in 90 days", "365": "in a year", "": "never"}
USUALLY_HIDDEN = ("host", "address", "discount")
NO_CHOICES = "Readers cannot change anything here: this snapshot has no prices, or is of an earlier release."
ORIGIN = re.compile(r"https?://[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?")


class ComparisonForm(CatalogForm):
    class Meta:
        model = Comparison
        fields = ("title", "remarks")
        help_texts = {
            "title": "What is compared, and why: it is the heading of what you publish.",
            "remarks": "What readers should know beside the numbers. An empty line begins a paragraph.",
        }


class LinkForm(CatalogForm):
    expires = forms.ChoiceField(choices=list(EXPIRIES.items()), initial="30", required=False, label="It ends")
    hidden = forms.MultipleChoiceField(
        choices=list(CLASSES.items()),
        initial=USUALLY_HIDDEN,
        required=False,
        label="Leave out",
        widget=forms.CheckboxSelectMultiple,
        help_text="What is ticked is taken out on the server: it is in no part of the page, nor in its files. "
        "How prices came about is left out with discounts or vendors. Look at the page before you send it.",
    )
    password = forms.CharField(
        required=False,
        min_length=8,
        max_length=128,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 8 characters. Send it separately from the link.",
    )

    choices = forms.MultipleChoiceField(
        choices=list(OPEN.items()),
        required=False,
        label="Readers may change",
        widget=forms.CheckboxSelectMultiple,
        help_text="Prices at other terms are computed from what this snapshot froze, without what you leave out. "
        "Readers begin with your choice, and can go back to it.",
    )

    class Meta:
        model = Link
        fields = ("name", "embedded_by")
        labels = {"name": "For whom", "embedded_by": "May be embedded by"}
        help_texts = {
            "embedded_by": "Addresses of sites whose pages may hold this one in a frame, several by spaces: "
            "https://wiki.example.org",
        }

    def __init__(self, *args: Any, snapshot: Snapshot | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.has_choices = snapshot is None or is_frozen(canonical.from_bytes(bytes(snapshot.content)))
        if not self.has_choices:
            self.fields["choices"].help_text = NO_CHOICES
            self.fields["choices"].disabled = not self.is_bound
        for name in ("expires", "hidden", "choices"):  # these choices say themselves that they may be none
            self.fields[name].label = str(self.fields[name].label).removesuffix(" (optional)")

    field_order = ("name", "hidden", "choices", "expires", "password", "embedded_by")

    def clean_embedded_by(self) -> str:
        origins = str(self.cleaned_data["embedded_by"]).lower().split()
        for origin in origins:
            if not ORIGIN.fullmatch(origin):
                raise forms.ValidationError(f"'{origin}' is no site: write https:// and its name, without a path.")
        return " ".join(origins)

    def clean_choices(self) -> list[str]:
        names = list(self.cleaned_data["choices"])
        if names and not self.has_choices:
            raise forms.ValidationError(NO_CHOICES)
        return names

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["expires"]
        return timezone.now() + timedelta(days=int(days)) if days else None

    @property
    def fields_of_link(self) -> dict[str, Any]:
        names = ("name", "embedded_by", "choices")
        return {name: self.cleaned_data[name] for name in names} | {"expires_at": self.expires_at}
