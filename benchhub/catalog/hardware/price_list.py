"""Many list prices at once, as CSV: each row is read by the form of one price, and all are saved or none."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from io import StringIO
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from benchhub.catalog.models import ListPrice
from benchhub.catalog.shared.forms import MEANWHILE, offer

from .forms import KINDS, PriceForm

SUBJECTS = {"hardware": "hardware", "licence": "licence_model"}
COLUMNS = (*SUBJECTS, *PriceForm.Meta.fields)
NEEDED = ("description", "amount", "currency", "priced_on", "source")
MOST_ROWS = 500
MOST_CHARACTERS = 1_000_000
MOST_NAMED = 20  # of the columns that there are not
EXAMPLE = "hardware,description,amount,currency,priced_on,source\nBox,Box with maintenance,15000,EUR,2026-01-31,a quote"
# Groups of three digits behind points: thousands in many countries, decimals in others.
GROUPED = re.compile(r"[1-9]\d{0,2}(\.\d{3})+", re.ASCII)
Row = Mapping[str, str]


@dataclass(frozen=True)
class Catalogue:
    """What prices are held against, read once for all rows: keys of what can be priced, by column and name, and the
    natural keys of the prices that the list has or gets."""

    keys: Mapping[str, Mapping[str, str]]
    lines: set[tuple[Any, ...]] = field(default_factory=set)

    @classmethod
    def read(cls, rows: list[tuple[int, Row]]) -> Catalogue:
        prices = ListPrice.objects.filter(description__in={row.get("description", "") for _, row in rows})
        keys = {column: _keys(kind) for column, kind in SUBJECTS.items()}
        return cls(keys, set(prices.values_list(*ListPrice.NATURAL_KEY)))


class PriceRowForm(PriceForm):
    """The form of one price, for a row that asks the database nothing."""

    def __init__(self, row: Row, item: str, catalogue: Catalogue) -> None:
        self.item, self.catalogue = item, catalogue
        super().__init__({**row, "of": item})

    def set_items(self) -> None:
        offer(self, "of", [(self.item, self.item)])

    def clean_amount(self) -> Decimal:
        text = str(self.data["amount"])
        if GROUPED.fullmatch(text):
            whole = text.replace(".", "")
            raise forms.ValidationError(f"{text} may be meant as {whole}: write {whole}, {whole}.00 or {text}0.")
        return super().clean_amount()

    def is_there(self) -> bool:
        return self.natural_key in self.catalogue.lines

    def _get_validation_exclusions(self) -> set[str]:
        """Spare the database a question for each constraint: the form has a sentence for each."""
        # The stubs of Django leave out what its forms name for themselves.
        exclusions: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]
        return {*exclusions, "amount", "currency"}


class PriceListForm(forms.Form):
    text = forms.CharField(
        label="Prices as CSV",
        label_suffix="",
        max_length=MOST_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 12, "data-drop": "", "spellcheck": "false", "placeholder": EXAMPLE}),
        help_text="Paste rows of a spreadsheet or drop a file here. The first line names the columns: hardware or "
        "licence (a name as BenchHub has it), description, amount, currency, priced_on, source, and perhaps "
        "part_number and remark.",
    )

    def saved(self) -> int:
        """Save the prices and return how many; 0, with each fault on the form, where one of them is wrong."""
        try:
            return save(self.cleaned_data["text"])
        except ValidationError as error:
            self.add_error("text", error)
            return 0


def save(text: str) -> int:
    """Save the prices of a CSV text and return how many; save none and raise ValidationError where any has a fault."""
    rows = _rows(text)
    catalogue = Catalogue.read(rows)
    prices, faults = list[ListPrice](), list[str]()
    for line, row in rows:
        try:
            prices.append(_price(row, catalogue))
        except ValidationError as error:
            faults += [f"Line {line}: {sentence}" for sentence in error.messages]
    if faults:
        raise ValidationError(faults)
    try:
        with transaction.atomic():
            ListPrice.objects.bulk_create(prices)
    except IntegrityError:
        raise ValidationError(MEANWHILE) from None
    return len(prices)


def _rows(text: str) -> list[tuple[int, Row]]:
    """Return each row that is not empty, with its line. Raises ValidationError."""
    first = text.lstrip("\ufeff\r\n ").partition("\n")[0]
    reader = csv.reader(
        StringIO(text.lstrip("\ufeff"), newline=""), delimiter=max(",;\t", key=first.count), strict=True
    )
    try:
        lines = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise ValidationError(f"Line {reader.line_num}: {error}. Look for a quote that is not closed.") from None
    heads = [cell.strip().lower().replace(" ", "_") for cell in lines[0][1]] if lines else []
    _check_heads(heads)
    if not 1 < len(lines) <= MOST_ROWS + 1:
        raise ValidationError(f"Write 1 to {MOST_ROWS} prices below the names of the columns.")
    return [(line, _row(line, heads, cells)) for line, cells in lines[1:]]


def _check_heads(heads: list[str]) -> None:
    missing = [name for name in NEEDED if name not in heads]
    faults = [f"The first line lacks the column {name}." for name in missing]
    unknown = [*dict.fromkeys(name for name in heads if name not in COLUMNS)]
    faults += [f"There is no column '{name}': write one of {', '.join(COLUMNS)}." for name in unknown[:MOST_NAMED]]
    if len(unknown) > MOST_NAMED:
        faults.append(f"There are {len(unknown) - MOST_NAMED:,} more columns of other names: is it another file?")
    faults += [f"The column {name} is there twice." for name in COLUMNS if heads.count(name) > 1]
    if faults:
        raise ValidationError(faults)


def _row(line: int, heads: list[str], cells: list[str]) -> Row:
    if len(cells) > len(heads):
        raise ValidationError(f"Line {line} has {len(cells)} cells for {len(heads)} columns: put commas into quotes.")
    return dict(zip(heads, (cell.strip() for cell in cells), strict=False))


def _keys(kind: str) -> dict[str, str]:
    return {row.name: f"{kind}:{row.pk}" for row in KINDS[kind].objects.current()}


def _price(row: Row, catalogue: Catalogue) -> ListPrice:
    """Return the price of a row, which the list then has. Raises ValidationError with all that is wrong with it."""
    form = PriceRowForm(row, _item(row, catalogue), catalogue)
    if not form.is_valid():
        raise ValidationError([f"{name}: {' '.join(map(str, texts))}" for name, texts in form.errors.items()])
    catalogue.lines.add(form.natural_key)
    price: ListPrice = form.instance
    return price


def _item(row: Row, catalogue: Catalogue) -> str:
    subjects = [(column, row[column]) for column in SUBJECTS if row.get(column)]
    if len(subjects) != 1:
        raise ValidationError("Name one hardware or one licence.")
    [(column, name)] = subjects
    if name not in catalogue.keys[column]:
        raise ValidationError(f"There is no {column} '{name}': write its name as the list of {column} has it.")
    return catalogue.keys[column][name]
