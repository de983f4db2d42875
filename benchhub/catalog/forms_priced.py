from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms

from .forms import CatalogForm, RevisedForm, of_kind
from .models import ExchangeRate, Hardware, Host, LicenceModel, ListPrice
from .templatetags.catalogue import GIB

KINDS: dict[str, type[Hardware] | type[LicenceModel]] = {"hardware": Hardware, "licence_model": LicenceModel}
KIND_NAMES = {"hardware": "Hardware", "licence_model": "Licence, for a year of one socket or core"}
DAY = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class HardwareForm(RevisedForm):
    memory_gib = forms.DecimalField(
        min_value=Decimal("0.01"), max_value=1_048_576, required=False, label="Memory, GiB", localize=False
    )
    followers = ((Host, "hardware"),)
    derived = ("memory_bytes",)

    class Meta:
        model = Hardware
        fields = ("name", "sockets", "cores_per_socket", "threads_per_core", "clock_ghz", "disks", "remark")
        labels = {"clock_ghz": "Clock, GHz"}
        help_texts = {
            "sockets": "Occupied sockets, as bought: licences are counted by them.",
            "cores_per_socket": "Physical cores, whatever the operating system shows.",
            "disks": "For example 4 x 300 GB SAS.",
        }
        widgets = {"remark": forms.Textarea(attrs={"rows": 3})}

    field_order = ("name", "sockets", "cores_per_socket", "threads_per_core", "clock_ghz", "memory_gib", "disks")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.memory_bytes is not None:
            self.initial["memory_gib"] = round(Decimal(self.instance.memory_bytes) / GIB, 2)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if "memory_gib" in self.changed_data:
            memory = cleaned.get("memory_gib")
            self.instance.memory_bytes = None if memory is None else int(memory * GIB)
        return cleaned


class PriceForm(CatalogForm):
    of = forms.ChoiceField(choices=(), label="Price of")
    priced_on = forms.DateField(widget=DAY, help_text="The day of the list or the quotation; it counts from then on.")
    currency = forms.CharField(max_length=3, help_text="ISO 4217: EUR, USD, GBP.")

    class Meta:
        model = ListPrice
        fields = ("description", "part_number", "amount", "currency", "priced_on", "source", "remark")
        help_texts = {
            "description": "The line of the list: Box, with 3 years of maintenance.",
            "amount": "Without VAT. Of a licence: for one socket or core, for one year.",
            "source": "Where it can be looked up again: list, quotation or address, with page.",
        }
        widgets = {"remark": forms.Textarea(attrs={"rows": 3})}

    field_order = ("of", "description", "part_number", "amount", "currency", "priced_on", "source", "remark")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["amount"].min_value = Decimal(0)  # type: ignore[attr-defined]
        self.fields["of"].choices = [("", "choose"), *priced_things()]  # type: ignore[attr-defined]

    def clean_currency(self) -> str:
        return str(self.cleaned_data["currency"]).upper()

    def clean_amount(self) -> Decimal:
        amount: Decimal = self.cleaned_data["amount"]
        if amount < 0:
            raise forms.ValidationError("A price cannot be negative.")
        return amount

    def clean_of(self) -> str:
        """Set what is priced on the row before its constraints are looked at."""
        of: str = self.cleaned_data["of"]
        for kind in KINDS:
            setattr(self.instance, f"{kind}_id", of_kind(of, kind))
        return of

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        key = {name: cleaned.get(name) for name in ("description", "source", "priced_on")}
        if all(key.values()) and ListPrice.objects.filter(**key).exists():
            self.add_error("description", "The list has this line already: same description, source and day.")
        return cleaned


class RateForm(CatalogForm):
    base = forms.CharField(max_length=3, label="From", help_text="The currency of which one unit is converted: EUR.")
    quoted = forms.CharField(max_length=3, label="To", help_text="The currency that it gives: USD.")
    value = forms.DecimalField(
        max_digits=18, decimal_places=8, label="Rate", help_text="How many of the second one unit of the first gives."
    )
    priced_on = forms.DateField(widget=DAY, label="Day", help_text="It counts from this day on.")

    class Meta:
        model = ExchangeRate
        fields = ("base", "quoted", "value", "priced_on", "source")
        help_texts = {"source": "Where it can be looked up again: a central bank, with address."}

    def clean_base(self) -> str:
        return str(self.cleaned_data["base"]).upper()

    def clean_quoted(self) -> str:
        return str(self.cleaned_data["quoted"]).upper()

    def clean_value(self) -> Decimal:
        value: Decimal = self.cleaned_data["value"]
        if value <= 0:
            raise forms.ValidationError("Write a rate above 0.")
        return value

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("base") and cleaned.get("base") == cleaned.get("quoted"):
            self.add_error("quoted", "Write another currency than the first one.")
        return cleaned


def priced_things() -> list[tuple[str, list[tuple[str, str]]]]:
    """What a price can be of, by kind."""
    groups = [
        (KIND_NAMES[kind], [(f"{kind}:{row.pk}", str(row)) for row in model.objects.current().order_by("name")])
        for kind, model in KINDS.items()
    ]
    return [group for group in groups if group[1]]
