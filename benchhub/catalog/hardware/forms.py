from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from django import forms
from django.core.validators import MinValueValidator
from django.urls import reverse

from benchhub.analysis.words import GIB, count
from benchhub.catalog.models import ExchangeRate, Hardware, Host, Instance, LicenceModel, ListPrice
from benchhub.catalog.models.hardware import CURRENCY
from benchhub.catalog.shared.forms import CatalogForm, RevisedForm, of_kind, offer

KINDS: dict[str, type[Hardware] | type[LicenceModel]] = {"hardware": Hardware, "licence_model": LicenceModel}
KIND_NAMES = {"hardware": "Hardware", "licence_model": "Licences: of what, for how long"}
DAY = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


CORES = re.compile(r"[1-9][0-9]{0,4}")
MEMORY = {"memory_gib": "memory_bytes", "vm_memory_gib": "vm_memory_bytes"}


def _memory_field(label: str, help_text: str) -> forms.DecimalField:
    least = Decimal("0.01")
    return forms.DecimalField(min_value=least, max_value=1_048_576, required=False, label=label, help_text=help_text)


class HardwareForm(RevisedForm):
    memory_gib = _memory_field("Memory, GiB", "As bought.")
    vm_memory_gib = _memory_field("Memory of the virtual machine, GiB", "For licences that count it.")
    unlike_cores = forms.CharField(
        required=False,
        max_length=2_000,
        label="Cores of each socket, where they differ",
        help_text="One number for each socket, for example 16, 8; then the most of them is the cores per socket.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    followers = ((Host, "hardware"), (Instance, "pooler_hardware"))
    derived = ("memory_bytes", "vm_memory_bytes", "unlike_cores")
    bought = (
        "name", "processor", "sockets", "cores_per_socket", "unlike_cores", "threads_per_core",
        "disabled_cores_per_socket", "clock_ghz", "memory_gib", "disks", "remark",
    )  # fmt: skip
    virtual = ("vm_vcpus", "vm_memory_gib", "vm_smt")

    class Meta:
        model = Hardware
        fields = (
            "name", "processor", "sockets", "cores_per_socket", "threads_per_core", "disabled_cores_per_socket",
            "clock_ghz", "disks", "remark", "vm_vcpus", "vm_smt",
        )  # fmt: skip
        labels = {
            "clock_ghz": "Clock, GHz",
            "processor": "Processor family",
            "disabled_cores_per_socket": "Cores per socket disabled in firmware",
            "vm_vcpus": "vCPUs",
            "vm_smt": "Two vCPUs share a physical core (SMT is on)",
        }
        help_texts = {
            "processor": "Core factors of licences go by it: write it as there, for example POWER8.",
            "sockets": "Occupied sockets as bought, not as a virtual machine shows them: licences count these.",
            "cores_per_socket": "Physical cores as bought, the disabled ones too, whatever the operating system shows.",
            "disabled_cores_per_socket": "Some licences count them all the same: their rules say.",
            "disks": "For example 4 x 300 GB SAS.",
            "vm_vcpus": "Licences per vCPU count these; all others count what was bought.",
        }
        widgets = {"remark": forms.Textarea(attrs={"rows": 3})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["disabled_cores_per_socket"].required = False
        if self.instance.unlike_cores:
            self.initial["unlike_cores"] = ", ".join(map(str, self.instance.unlike_cores))
        self.fields["vm_vcpus"].validators.append(MinValueValidator(1))
        for gib, stored in MEMORY.items():
            if (memory_bytes := getattr(self.instance, stored)) is not None:
                self.initial[gib] = round(Decimal(memory_bytes) / GIB, 2)

    @property
    def groups(self) -> list[tuple[str, list[Any]]]:
        bought = [self[name] for name in self.bought if name in self.fields]
        return [("", bought), ("Its virtual machine, if it runs in one", [self[name] for name in self.virtual])]

    def clean_disabled_cores_per_socket(self) -> int:
        disabled: int = self.cleaned_data["disabled_cores_per_socket"] or 0
        if disabled and disabled >= self.cleaned_data.get("cores_per_socket", disabled + 1):
            raise forms.ValidationError("Write fewer than the socket has cores.")
        return disabled

    def clean_unlike_cores(self) -> list[int]:
        words = self.cleaned_data["unlike_cores"].replace(",", " ").split()
        if any(not CORES.fullmatch(word) for word in words):
            raise forms.ValidationError("Write whole numbers from 1, one for each socket, for example: 16, 8.")
        return list(map(int, words))

    def _check_unlike_cores(self, cleaned: dict[str, Any]) -> None:
        """Say how the cores of each socket contradict the rest; sockets that are alike need no such list."""
        cores, sockets = cleaned.get("unlike_cores") or [], cleaned.get("sockets")
        if cores and sockets and len(cores) != sockets:
            numbers = count(len(cores), "number")
            self.add_error("unlike_cores", f"Write one number for each of {sockets:,} sockets, not {numbers}.")
        elif cores and max(cores) != cleaned.get("cores_per_socket", max(cores)):
            self.add_error("cores_per_socket", f"The largest socket has {max(cores):,} cores by the list: write that.")
        elif cores and min(cores) <= cleaned.get("disabled_cores_per_socket", 0):
            self.add_error("disabled_cores_per_socket", "Write fewer than the smallest socket has cores.")
        self.instance.unlike_cores = cores if len(set(cores)) > 1 else []

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        self._check_unlike_cores(cleaned)
        for gib, stored in MEMORY.items():
            if gib in self.changed_data:
                memory = cleaned.get(gib)
                setattr(self.instance, stored, None if memory is None else int(memory * GIB))
        if not cleaned.get("vm_vcpus"):
            cleaned["vm_smt"] = True
            if cleaned.get("vm_memory_gib") and "vm_vcpus" not in self.errors:
                self.add_error("vm_vcpus", "Write how many vCPUs the virtual machine has, or leave its memory empty.")
        return cleaned


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
