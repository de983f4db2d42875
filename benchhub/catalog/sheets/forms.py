"""The form of a price sheet: its own fields, its lines and its discounts, saved together or not at all."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db import IntegrityError, transaction
from django.db.models import Q

from benchhub.analysis.pricing.money import PricingError
from benchhub.analysis.pricing.sheets.sheet import Sheet
from benchhub.analysis.pricing.sheets.total import SheetTotal, total
from benchhub.catalog.hardware.prices.forms import DAY
from benchhub.catalog.models import Hardware, PriceSheet
from benchhub.catalog.shared.forms import MEANWHILE, RevisedForm, offer_rows
from benchhub.ui.row_set import RowSet

from .rows import check_rows, store_rows
from .texts import DISCOUNT, LINE, SheetTexts

# What a total cannot do without; the name and the source can wait until the sheet is saved.
PRICED_BY = ("term_months", "places", "rounded_per", "rounding", "total_places", "is_large_quantity")


class SheetForm(RevisedForm):
    hardware = forms.ModelChoiceField(
        Hardware.objects.none(), required=False, empty_label="none", help_text="The machine that this sheet prices."
    )
    currency = forms.CharField(max_length=3, help_text="ISO 4217: EUR, USD. All lines are in it.")
    priced_on = forms.DateField(widget=DAY, help_text="The sheet counts from this day on.")
    term_months = forms.IntegerField(
        min_value=1,
        max_value=600,
        label="Term, months",
        help_text="What the maintenance covers: 36 by the TPC's rules.",
    )
    places = forms.IntegerField(min_value=0, max_value=6, label="Decimals", help_text="Of each amount.")
    total_places = forms.IntegerField(
        min_value=-6,
        max_value=6,
        required=False,
        label="Decimals of the total",
        help_text="0 rounds it to whole units.",
    )

    class Meta:
        model = PriceSheet
        fields = (
            "name", "hardware", "currency", "priced_on", "source", "term_months", "places", "rounded_per", "rounding",
            "total_places", "is_large_quantity", "remark",
        )  # fmt: skip
        labels = {"rounded_per": "Rounded is", "rounding": "Rounding", "is_large_quantity": "Large quantity"}
        help_texts = {
            "source": "Where it can be looked up again: offer, report or address, with page.",
            "is_large_quantity": "Discounts are then suspicious above 50%, otherwise above 25%.",
        }
        widgets = {"remark": forms.Textarea(attrs={"rows": 2})}

    def __init__(self, *args: Any, is_final: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = Q(retired_at=None) | Q(pk=self.instance.hardware_id)
        offer_rows(self, "hardware", Hardware.objects.filter(own).order_by("name"))
        for name in ("name", "source", "priced_on", "currency"):
            if name in self.fields and not is_final:
                self.fields[name].required = False

    def clean_currency(self) -> str:
        return str(self.cleaned_data["currency"]).upper()


class SheetDraft:
    """A sheet as it stands in the form: what it comes to, or what is wrong with it. `row` is what it revises."""

    def __init__(
        self, texts: SheetTexts, row: PriceSheet | None = None, *, is_started: bool = True, is_final: bool = False
    ) -> None:
        data = {name: text for name, text in texts.sheet.items() if (name, text) != ("is_large_quantity", "no")}
        self.row = row
        self.form = SheetForm(data if is_started else None, instance=row, initial=texts.sheet, is_final=is_final)
        self.lines = RowSet("lines", "Line", LINE, texts.lines)
        self.discounts = RowSet("discounts", "Discount", DISCOUNT, texts.discounts)
        self.is_started, self.is_final = is_started, is_final
        self.error = ""  # of the sheet as a whole
        self.total = self._total()

    @property
    def is_valid(self) -> bool:
        return self.total is not None and self.form.is_valid()

    @property
    def problems(self) -> list[str]:
        """Return all that keeps it from being added up, as sentences that name their place."""
        form = [f"{self.form[name].label}: {' '.join(map(str, self.form.errors[name]))}" for name in self._unreadable]
        problems = [self.error] if self.error else []
        return [*form, *self.lines.problems, *self.discounts.problems, *problems]

    @property
    def _unreadable(self) -> list[str]:
        return [name for name in PRICED_BY if name in self.form.errors]

    def _total(self) -> SheetTotal | None:
        lines, discounts = check_rows(self.lines, self.discounts)
        if self.is_started and not self.lines.filled:
            self.error = "There is no line yet: write what is bought, how many and at what price."
        is_readable = self.lines.is_valid and self.discounts.is_valid and not self._unreadable
        if not (self.is_started and is_readable and lines):
            return None
        values = self.form.cleaned_data
        priced_by = {name: values[name] for name in PRICED_BY}
        try:
            sheet_total = total(
                Sheet("the sheet", values.get("currency") or "", tuple(lines), tuple(discounts), **priced_by)
            )
        except PricingError as error:
            self.error = str(error)
            return None
        for row, extended in zip(self.lines.filled, sheet_total.rows, strict=True):
            row.extended = extended
        return sheet_total

    def focus(self, table: str) -> None:
        """Have the page begin in the last row of a table: the one that was added."""
        for rows in (self.lines, self.discounts):
            if rows.prefix == table and rows.rows:
                rows.rows[-1].is_focused = True

    def save(self) -> PriceSheet | None:
        """Return the saved sheet; None, with sentences beside the fields, where something is wrong."""
        if not self.is_valid:
            return None
        try:
            with transaction.atomic():
                sheet: PriceSheet = self.form.save()
                store_rows(sheet, self.lines, self.discounts)
                return sheet
        except IntegrityError:
            self.form.add_error(None, MEANWHILE)
            return None
