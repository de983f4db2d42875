"""Many list prices at once, as CSV: each row is read by the form of one price, and all are saved or none."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from io import StringIO

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction

from .forms import KINDS, PriceForm

SUBJECTS = {"hardware": "hardware", "licence": "licence_model"}
COLUMNS = (*SUBJECTS, *PriceForm.Meta.fields)
NEEDED = ("description", "amount", "currency", "priced_on", "source")
MOST_ROWS = 500
MOST_CHARACTERS = 1_000_000
EXAMPLE = "hardware,description,amount,currency,priced_on,source\nBox,Box with maintenance,15000,EUR,2026-01-31,a quote"
Row = Mapping[str, str]


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
    keys = {column: _keys(kind) for column, kind in SUBJECTS.items()}
    with transaction.atomic():
        # A row is saved before the next is read, so that a line that is there twice is found.
        if faults := [f"Line {line}: {fault}" for line, row in rows for fault in _faults(row, keys)]:
            raise ValidationError(faults)
    return len(rows)


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
    faults += [
        f"There is no column '{name}': write one of {', '.join(COLUMNS)}." for name in heads if name not in COLUMNS
    ]
    faults += [f"The column {name} is there twice." for name in COLUMNS if heads.count(name) > 1]
    if faults:
        raise ValidationError(faults)


def _row(line: int, heads: list[str], cells: list[str]) -> Row:
    if len(cells) > len(heads):
        raise ValidationError(f"Line {line} has {len(cells)} cells for {len(heads)} columns: put commas into quotes.")
    return dict(zip(heads, (cell.strip() for cell in cells), strict=False))


def _keys(kind: str) -> dict[str, str]:
    return {row.name: f"{kind}:{row.pk}" for row in KINDS[kind].objects.current()}


def _faults(row: Row, keys: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Save the price of a row, or yield what is wrong with it."""
    subjects = [(column, row[column]) for column in SUBJECTS if row.get(column)]
    if len(subjects) != 1:
        yield "Name one hardware or one licence."
        return
    [(column, name)] = subjects
    if name not in keys[column]:
        yield f"There is no {column} '{name}': write its name as the list of {column} has it."
        return
    form = PriceForm({**row, "of": keys[column][name]})
    if not (form.is_valid() and form.saved()):
        yield from (f"{field}: {' '.join(map(str, texts))}" for field, texts in form.errors.items())
