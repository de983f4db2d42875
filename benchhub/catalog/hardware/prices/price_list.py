"""Many list prices at once, as CSV: each row is read by the form of one price, looked at, and all are saved or none."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from io import StringIO
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, transaction

from benchhub.analysis.pricing.money import trimmed
from benchhub.analysis.words import count, listing
from benchhub.catalog.models import ListPrice, PriceImport
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
class Line:
    """A line of the text by its number: the price that it makes, or that the list has already, or what is wrong.

    `ignored_columns` are those in which the list has another text for the price, which stays.
    """

    number: int
    row: Row
    price: ListPrice | None = None
    is_there: bool = False
    ignored_columns: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        return self.row.get("hardware") or self.row.get("licence") or ""

    @property
    def ignored_text(self) -> str:
        """Say which texts of a line are not taken over; empty if all are in the list."""
        names = listing([name.replace("_", " ") for name in self.ignored_columns])
        return f"The list keeps its own {names}." if names else ""


@dataclass(frozen=True)
class PriceList:
    """The lines of a text: what becomes a price, what the list has already, and what is refused."""

    lines: tuple[Line, ...]

    @classmethod
    def read(cls, text: str) -> PriceList:
        """Read a CSV text. Raises ValidationError where it is no list of prices."""
        rows = _rows(text)
        catalogue = Catalogue.read(row for _, row in rows)
        return cls(tuple(_line(number, row, catalogue) for number, row in rows))

    @property
    def new(self) -> list[ListPrice]:
        return [line.price for line in self.lines if line.price and not line.is_there]

    @property
    def there(self) -> list[Line]:
        return [line for line in self.lines if line.is_there]

    @property
    def refused(self) -> list[Line]:
        return [line for line in self.lines if line.faults]

    @property
    def refused_first(self) -> list[Line]:
        return sorted(self.lines, key=lambda line: not line.faults)

    @property
    def words(self) -> str:
        """Count the lines by what becomes of them: '12 prices are new. 3 are in the list already.'"""
        counts = [(len(self.new), "price", "new"), (len(self.there), "price", "in the list already")]
        counts.append((len(self.refused), "line", "refused"))
        return " ".join(f"{count(n, noun)} {'is' if n == 1 else 'are'} {state}." for n, noun, state in counts if n)

    def save(self, user: Any) -> list[ListPrice]:
        """Save the new prices as one import and return them. Raises ValidationError if one was added meanwhile."""
        prices = self.new
        try:
            with transaction.atomic():
                price_import = PriceImport.objects.create(made_by=user)
                for price in prices:
                    price.price_import = price_import
                return ListPrice.objects.bulk_create(prices)
        except IntegrityError:
            raise ValidationError(MEANWHILE) from None


@dataclass(frozen=True)
class Catalogue:
    """What prices are held against, read once for all rows: keys of what can be priced, by column and name, and by
    their natural keys the prices that the list has, and the lines of those that it gets."""

    keys: Mapping[str, Mapping[str, str]]
    prices: Mapping[tuple[Any, ...], ListPrice]
    lines: dict[tuple[Any, ...], int] = field(default_factory=dict)

    @classmethod
    def read(cls, rows: Iterable[Row]) -> Catalogue:
        prices = ListPrice.objects.in_force().filter(description__in={row.get("description", "") for row in rows})
        keys = {column: _keys(kind) for column, kind in SUBJECTS.items()}
        return cls(keys, {tuple(getattr(price, name) for name in ListPrice.NATURAL_KEY): price for price in prices})


class PriceRowForm(PriceForm):
    """The form of one price, for a row that asks the database nothing."""

    def __init__(self, row: Row, item: str) -> None:
        self.item = item
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
        """Leave it to whoever reads the whole list, which knows its other lines too."""
        return False

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

    def clean_text(self) -> str:
        """Read the text, so that one that is no list of prices is refused."""
        text: str = self.cleaned_data["text"]
        self.price_list = PriceList.read(text)
        return text

    @property
    def is_confirmed(self) -> bool:
        """Tell whether the reader has seen what becomes of this very text."""
        return self.data.get("seen_digest") == self.digest

    @property
    def digest(self) -> str:
        """Return the digest of the text, however its lines end."""
        return hashlib.sha256("\n".join(self.cleaned_data["text"].splitlines()).encode()).hexdigest()

    def saved(self, user: Any) -> list[ListPrice]:
        """Save and return the prices; none where there is none to save, or with the fault on the form.

        After a fault the lines are read anew, as one of them is in the list by now.
        """
        try:
            return self.price_list.save(user)
        except ValidationError as error:
            # An error of the field would take the text away, which the page still needs.
            self.add_error(None, error)
            self.price_list = PriceList.read(self.cleaned_data["text"])
            return []


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


def _line(number: int, row: Row, catalogue: Catalogue) -> Line:
    try:
        form = _valid(row, catalogue)
        price: ListPrice = form.instance
        before = _same_price(form.natural_key, price, catalogue)
    except ValidationError as error:
        return Line(number, row, faults=tuple(error.messages))
    catalogue.lines[form.natural_key] = number
    return Line(number, row, price, before is not None, _ignored_columns(price, before) if before else ())


def _valid(row: Row, catalogue: Catalogue) -> PriceRowForm:
    item = ""
    faults: list[str] = []
    try:
        item = _item(row, catalogue)
    except ValidationError as error:
        faults += error.messages
    form = PriceRowForm(row, item)
    spared = () if item else ("of", NON_FIELD_ERRORS)  # they would say again that nothing is priced
    faults += [f"{name}: {' '.join(map(str, texts))}" for name, texts in form.errors.items() if name not in spared]
    if faults:
        raise ValidationError(faults)
    return form


def _same_price(key: tuple[Any, ...], price: ListPrice, catalogue: Catalogue) -> ListPrice | None:
    """Return this very price as the list has it. Raises ValidationError where it has another in its place."""
    if key in catalogue.lines:
        raise ValidationError(f"Line {catalogue.lines[key]} has the same description, source and day.")
    before = catalogue.prices.get(key)
    if before and (before.amount, before.currency) != (price.amount, price.currency):
        amount = f"{trimmed(before.amount):,f} {before.currency}"
        text = f"The list has {amount} for this description, source and day: a price that changed"
        raise ValidationError(f"{text} has another day or source.")
    return before


def _ignored_columns(price: ListPrice, before: ListPrice) -> tuple[str, ...]:
    texts = {name: getattr(price, name) for name in ("part_number", "remark")}
    return tuple(name for name, text in texts.items() if text and text != getattr(before, name))


def _item(row: Row, catalogue: Catalogue) -> str:
    subjects = [(column, row[column]) for column in SUBJECTS if row.get(column)]
    if len(subjects) != 1:
        raise ValidationError("Name one hardware or one licence.")
    [(column, name)] = subjects
    if name not in catalogue.keys[column]:
        raise ValidationError(f"There is no {column} '{name}': write its name as the list of {column} has it.")
    return catalogue.keys[column][name]
