"""A published report as data: typed rows out of a parsed file, and an error that names the place where one is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

LETTERS = ("A", "B", "C", "D")
REPORT_FIELDS = ("letter", "slug", "title", "document", "who", "year", "dated", "compared", "tool", "source")
# Of each kind of row: the fields that it must have and those that it may have, all of them text but `values`.
KINDS: Mapping[str, tuple[str, str]] = {
    "figure": ("id what printed value unit section", "oddity known_to"),
    "derived": ("id what value low high unit section from", ""),
    "facts": ("group section values", "oddity"),
    "oddity": ("section text", ""),
    "lost": ("section what text", ""),
    "result": ("build counted ratio scale clients threads tps latency_ms section", "oddity"),
    "system": (
        "name section",
        "hardware licence metric sockets cores_per_socket units tps hardware_only with_subscription "
        "drivers total price mqth",
    ),
    "level": ("clients section", ""),
    "step": ("number change words qualifier gain_percent section", "oddity"),
    "part": ("name category hybrid in_memory section", "oddity"),
}


@dataclass(frozen=True, slots=True)
class Between:
    """A number, and the lowest and highest that rounding leaves room for."""

    middle: Fraction
    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, number: Decimal | Fraction | int) -> Between:
        """Return the number itself, without any room."""
        return cls(Fraction(number), Fraction(number), Fraction(number))

    @property
    def is_point(self) -> bool:
        return self.low == self.high

    def over(self, other: Between) -> Between:
        """Return the quotient of positive numbers, which is lowest with this one lowest and the other highest."""
        return Between(self.middle / other.middle, self.low / other.high, self.high / other.low)

    def overlaps(self, other: Between) -> bool:
        """Tell whether a number lies in both intervals, their ends among them."""
        return self.low <= other.high and other.low <= self.high


class PublishedError(ValueError):
    """Raised for a mistake in the data of a report; the message names file and row."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `place` names it in errors; numbers stay text until they are asked for."""

    place: str
    values: Mapping[str, Any]

    def text(self, name: str) -> str:
        """Return the field's text; '' for an optional one that is left out."""
        return str(self.values.get(name, ""))

    def number(self, name: str) -> Decimal:
        """Return the field as an exact number. Raises PublishedError."""
        if name not in self.values:
            raise PublishedError(f"{self.place}: '{name}' is missing.")
        try:
            number = Decimal(str(self.values[name]))
        except InvalidOperation:
            raise PublishedError(f"{self.place}: '{name}' is '{self.values[name]}', which is not a number.") from None
        if not number.is_finite():
            raise PublishedError(f"{self.place}: '{name}' is '{self.values[name]}', which is not a number.")
        return number

    def above_0(self, name: str) -> Decimal:
        """Return the field as a number above 0. Raises PublishedError."""
        number = self.number(name)
        if number <= 0:
            raise PublishedError(f"{self.place}: '{name}' is {number}, which is not above 0.")
        return number

    def one_of(self, name: str, words: Sequence[str]) -> str:
        """Return the field, which is one of these words. Raises PublishedError."""
        if (word := self.text(name)) not in words:
            raise PublishedError(f"{self.place}: '{name}' is '{word}'; use one of {', '.join(words)}.")
        return word

    def integer(self, name: str) -> int:
        """Return the field as a whole number. Raises PublishedError."""
        number = self.number(name)
        if number != number.to_integral_value():
            raise PublishedError(f"{self.place}: '{name}' is {number}, which is not a whole number.")
        return int(number)


@dataclass(frozen=True, slots=True)
class Figure:
    """One published number: its value, how the report prints it, in which unit and section."""

    place: str
    subject: str
    printed: str
    value: Decimal
    unit: str
    section: str
    oddity: str = ""
    known_to: Decimal | None = None

    @property
    def places(self) -> int:
        """Return how many decimals the report gives."""
        return places(self.value)

    @property
    def half_unit(self) -> Fraction:
        """Return what rounding can hide, each way: half of the last printed decimal, or of what it is `known_to`."""
        return half_unit(self.value) if self.known_to is None else Fraction(self.known_to) / 2

    @property
    def between(self) -> Between:
        """Return the value with the interval that its rounding leaves."""
        value = Fraction(self.value)
        return Between(value, value - self.half_unit, value + self.half_unit)


@dataclass(frozen=True, slots=True)
class Document:
    """A report: its own fields, its figures by their id, and its other rows by kind."""

    file: str
    about: Mapping[str, str]
    figures: Mapping[str, Figure]
    rows: Mapping[str, tuple[Row, ...]]

    @property
    def letter(self) -> str:
        return self.about["letter"]

    def figure(self, name: str) -> Figure:
        """Return the figure with this id. Raises PublishedError if there is none."""
        if name not in self.figures:
            raise PublishedError(f"{self.file}: there is no figure with the id '{name}'.")
        return self.figures[name]

    def value(self, name: str) -> Decimal:
        return self.figure(name).value

    def cited(self, row: Row, name: str) -> Figure:
        """Return the figure whose id stands in a field of this row. Raises PublishedError with the row's place."""
        if row.text(name) not in self.figures:
            raise PublishedError(f"{row.place}: '{name}' names the figure '{row.text(name)}', which is not there.")
        return self.figures[row.text(name)]

    def all(self, kind: str) -> tuple[Row, ...]:
        return self.rows.get(kind, ())

    def row(self, kind: str, **fields: str) -> Row:
        """Return the one row with these texts. Raises PublishedError if there is none, or more than one."""
        rows = [row for row in self.all(kind) if all(row.text(name) == text for name, text in fields.items())]
        if len(rows) != 1:
            fields_text = ", ".join(f"{name} '{text}'" for name, text in fields.items())
            raise PublishedError(f"{self.file}: {len(rows) or 'no'} {kind} rows have {fields_text}; there must be one.")
        return rows[0]


def read(file: str, parsed: Mapping[str, Any]) -> Document:
    """Read a parsed file as a report. `file` is its name, for errors. Raises PublishedError with the place."""
    about = _about(file, parsed.get("report"))
    rows = {kind: _rows(file, kind, parsed[kind]) for kind in parsed if kind != "report"}
    _refuse_doubles([*rows.get("figure", ()), *rows.get("derived", ())])
    figures = {row.text("id"): _figure(row) for row in rows.get("figure", ())}
    return Document(file, about, figures, rows)


def places(value: Decimal) -> int:
    """Return how many decimals a number is written with: 2 for 2.10, 0 for 300."""
    return max(0, -int(value.as_tuple().exponent))


def half_unit(value: Decimal) -> Fraction:
    """Return half of the last decimal that a number is written with: what rounding can hide, each way."""
    return Fraction(1, 2 * 10 ** places(value))


def _about(file: str, content: Any) -> dict[str, str]:
    if not isinstance(content, Mapping):
        raise PublishedError(f"{file}: the table [report] is missing.")
    _check_fields(f"{file}, report", content, REPORT_FIELDS, ())
    if content["letter"] not in LETTERS:
        raise PublishedError(f"{file}, report: the letter is '{content['letter']}'; use one of {', '.join(LETTERS)}.")
    return dict(content)


def _rows(file: str, kind: str, content: Any) -> tuple[Row, ...]:
    if kind not in KINDS or not isinstance(content, list):
        raise PublishedError(f"{file}: there are no rows named '{kind}'; use {', '.join(KINDS)}.")
    required, optional = (fields.split() for fields in KINDS[kind])
    rows = tuple(_row(file, kind, number, values) for number, values in enumerate(content, start=1))
    for row in rows:
        _check_fields(row.place, row.values, required, optional)
    return rows


def _row(file: str, kind: str, number: int, values: Any) -> Row:
    place = f"{file}, {kind} {number}"
    if not isinstance(values, Mapping):
        raise PublishedError(f"{place}: it must be a table of fields.")
    name = next((values[field] for field in ("id", "name", "group") if field in values), "")
    return Row(f"{place} '{name}'" if name else place, values)


def _check_fields(place: str, values: Mapping[str, Any], required: Sequence[str], optional: Sequence[str]) -> None:
    if missing := [name for name in required if name not in values]:
        raise PublishedError(f"{place}: '{missing[0]}' is missing.")
    if unknown := sorted(values.keys() - {*required, *optional}):
        raise PublishedError(f"{place}: '{unknown[0]}' is unknown; use {', '.join([*required, *optional])}.")
    for name, value in values.items():
        _check_text(f"{place}: '{name}'", value, name == "values")


def _check_text(place: str, value: Any, is_table: bool) -> None:
    """Refuse all but text: a number that a parser has read as a float is no longer what was printed."""
    if is_table and isinstance(value, Mapping):
        for name, inner in value.items():
            _check_text(f"{place}, '{name}'", inner, False)
    elif is_table or not isinstance(value, str):
        raise PublishedError(f"{place} must be {'a table of text' if is_table else 'text, in quotes'}, not {value!r}.")


def _refuse_doubles(rows: Sequence[Row]) -> None:
    row_by_id: dict[str, Row] = {}
    for row in rows:
        if row_by_id.setdefault(row.text("id"), row) is not row:
            raise PublishedError(f"{row.place}: the id is already that of {row_by_id[row.text('id')].place}.")


def _figure(row: Row) -> Figure:
    return Figure(
        place=row.place,
        subject=row.text("what"),
        printed=row.text("printed"),
        value=row.number("value"),
        unit=row.text("unit"),
        section=row.text("section"),
        oddity=row.text("oddity"),
        known_to=row.number("known_to") if row.text("known_to") else None,
    )
