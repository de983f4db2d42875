"""Forms of a list price and of an exchange rate."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.urls import reverse

from benchhub.catalog.models import ExchangeRate, Hardware, LicenceModel, ListPrice
from benchhub.catalog.models.hardware import CURRENCY
from benchhub.catalog.shared.forms import CatalogForm, of_kind, offer

KINDS: dict[str, type[Hardware] | type[LicenceModel]] = {"hardware": Hardware, "licence_model": LicenceModel}
KIND_NAMES = {"hardware": "Hardware", "licence_model": "Licences: of what, for how long"}
DAY = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class PriceForm(CatalogForm):
    of = forms.ChoiceField(choices=(), label="Price of")
    priced_on = forms.DateField(
        widget=DAY,
        input_formats=["%Y-%m-%d"],
        error_messages={"invalid": "Write a day as year-month-day, such as 2026-01-31."},
        help_text="The day of the list or the quotation; it counts from then on.",
    )
    currency = forms.CharField(max_length=3, help_text="ISO 4217: EUR, USD, GBP.")

    class Meta:
        model = ListPrice
        fields = ("description", "part_number", "amount", "currency", "priced_on", "source", "remark")
        help_texts = {
            "description": "The line of the list: Box, with 3 years of maintenance.",
            "source": "Where it can be looked up again: list, quotation or address, with page.",
        }
        widgets = {"remark": forms.Textarea(attrs={"rows": 3})}

    field_order = ("of", "description", "part_number", "amount", "currency", "priced_on", "source", "remark")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.set_items()

    def set_items(self) -> None:
        """Offer what can be priced, and say what the amount is for."""
        offer(self, "of", [("", "choose"), *priced_items()])
        shows = {"hx-get": reverse("price-unit"), "hx-target": "#id_amount_helptext", "hx-select": "unset"}
        self.fields["of"].widget.attrs |= {**shows, "hx-trigger": "change", "hx-swap": "innerHTML"}
        self.fields["amount"].help_text = amount_help(str(self["of"].value() or ""))

    def clean_currency(self) -> str:
        currency = str(self.cleaned_data["currency"]).upper()
        CURRENCY(currency)
        return currency

    def clean_amount(self) -> Decimal:
        amount: Decimal = self.cleaned_data["amount"]
        if amount < 0:
            raise forms.ValidationError("A price cannot be negative.")
        return amount

    def clean_of(self) -> str:
        """Set what is priced on the row before its constraints are looked at."""
        item: str = self.cleaned_data["of"]
        for kind in KINDS:
            setattr(self.instance, f"{kind}_id", of_kind(item, kind))
        return item

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if all(cleaned.get(name) for name in ("of", "description", "source", "priced_on")) and self.is_there():
            self.add_error("description", "The list has this line for it already: same description, source and day.")
        return cleaned

    def is_there(self) -> bool:
        """Tell whether the list has a price of the same thing with the same description, source and day."""
        key = dict(zip(ListPrice.NATURAL_KEY, self.natural_key, strict=True))
        return ListPrice.objects.in_force().filter(**key).exists()

    @property
    def natural_key(self) -> tuple[Any, ...]:
        row = self.instance
        cleaned = (self.cleaned_data[name] for name in ListPrice.NATURAL_KEY[2:])
        return (row.hardware_id, row.licence_model_id, *cleaned)


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


def amount_help(item: str) -> str:
    """Say what an amount is paid for: the rules of a licence model tell how it is paid."""
    pk = of_kind(item, "licence_model")
    model = LicenceModel.objects.filter(pk=pk).first() if pk else None
    if model:
        return f"Without VAT, for {model.price_of}, as the rules of {model} say."
    return "Without VAT." if item else "Without VAT. A licence is priced by the unit that its rules count and pay for."


def priced_items() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return what a price can be of, as choices by kind."""
    groups = [
        (KIND_NAMES[kind], [(f"{kind}:{row.pk}", _label(row)) for row in model.objects.current().order_by("name")])
        for kind, model in KINDS.items()
    ]
    return [group for group in groups if group[1]]


def _label(row: Hardware | LicenceModel) -> str:
    return f"{row} ({row.price_of})" if isinstance(row, LicenceModel) else str(row)
