"""Taking a list price back, alone or with all of its import: it stays in the list, and prices nothing any more."""

from __future__ import annotations

from typing import Any, cast

from django import forms

from benchhub.analysis.words import count
from benchhub.catalog.models import ListPrice

ALONE, IMPORT = "price", "import"
ALREADY = "This price was taken back already."


class TakeBackForm(forms.Form):
    """A choice of what is taken back: one price, or with it all prices in force of its import."""

    scope = forms.ChoiceField(
        label="Take back",
        choices=[(ALONE, "this price alone"), (IMPORT, "all prices of its import")],
        initial=ALONE,
        error_messages={"invalid_choice": "No other price in force came with it: take back this price alone."},
    )

    def __init__(self, *args: Any, price: ListPrice, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        self.price = price
        field = cast(forms.ChoiceField, self.fields["scope"])
        field.choices = [(ALONE, "this price alone"), *self._import_choices()]
        if len(field.choices) == 1:
            field.widget, self.initial["scope"] = forms.HiddenInput(), ALONE

    def _import_choices(self) -> list[tuple[str, str]]:
        """Offer the import where more than this price of it is in force."""
        price_import = self.price.price_import
        number = price_import.prices.in_force().count() if price_import else 0
        if price_import is None or number < 2:
            return []
        return [(IMPORT, f"all {number:,} prices in force of the {price_import}")]

    def take_back(self, user: Any) -> int:
        """Take back what was chosen, and return how many prices that were; 0 where somebody was first."""
        if self.cleaned_data["scope"] == IMPORT:
            return ListPrice.objects.filter(price_import=self.price.price_import).take_back(user)
        return ListPrice.objects.filter(pk=self.price.pk).take_back(user)


def take_back_text(price: ListPrice, number: int) -> str:
    """Say what was taken back: the price, and how many of its import with it; nothing where somebody was first."""
    if not number:
        return ALREADY
    return f"Taken back: {price}" + (f", and {count(number - 1, 'price')} of its import." if number > 1 else ".")
