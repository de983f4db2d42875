"""A price/performance of a price sheet: the metric that a report gives, and how its price is rounded."""

from __future__ import annotations

from decimal import Decimal

from django import forms

from benchhub.analysis.pricing.sheets.reported import WAYS, per_metric
from benchhub.analysis.pricing.sheets.total import SheetTotal
from benchhub.analysis.pricing.steps import Step

LEAST = Decimal("0.000001")


class ReportedForm(forms.Form):
    metric = forms.DecimalField(
        label="Reported metric",
        min_value=LEAST,
        max_digits=18,
        decimal_places=6,
        help_text="Such as 1200011.",
        error_messages={"invalid": "Write a number with a point and without separators, such as 1200011."},
    )
    unit = forms.CharField(max_length=20, initial="tpmC", help_text="tpmC, tpsE, QphH, TPS.")
    decimals = forms.IntegerField(min_value=0, max_value=6, initial=2)
    rounding = forms.ChoiceField(
        choices=[(way, words.removeprefix("rounded ")) for way, words in WAYS.items()],
        initial="up",
        help_text="The TPC rounds up.",
    )

    def price(self, total: SheetTotal) -> tuple[Decimal, Step] | None:
        """Return the price of one unit of the metric and its derivation; None unless the form is valid."""
        if not self.is_bound or not self.is_valid():
            return None
        values = self.cleaned_data
        return per_metric(total, values["metric"], values["unit"], values["decimals"], values["rounding"])
