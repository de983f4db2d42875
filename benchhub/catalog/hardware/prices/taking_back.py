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
        """Offer the import where another price of it than this is in force."""
        price_import = self.price.price_import
        if price_import is None or not price_import.prices.in_force().exclude(pk=self.price.pk).exists():
            return []
        number = price_import.prices.in_force().count()
        return [(IMPORT, f"all {count(number, 'price')} in force of the {price_import}")]

    @property
    def is_settled(self) -> bool:
        """Tell whether nothing is left to take back: neither the price nor anything else of its import."""
        return self.price.taken_back_at is not None and not self._import_choices()

    def take_back(self, user: Any) -> int:
        """Take back what was chosen, and return how many prices that were; 0 where somebody was first."""
        if self.cleaned_data["scope"] == IMPORT:
            return ListPrice.objects.filter(price_import=self.price.price_import).take_back(user)
        return ListPrice.objects.filter(pk=self.price.pk).take_back(user)

    def text(self, number: int) -> str:
        """Say what was taken back: the price, or how many of its import; where it was none, that somebody was first."""
        if not number:
            return ALREADY
        if self.cleaned_data["scope"] == IMPORT:
            return f"Taken back: {count(number, 'price')} of the {self.price.price_import}."
        return f"Taken back: {self.price}."
