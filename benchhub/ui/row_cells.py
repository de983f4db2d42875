"""Read the cells of a form's table: text in, value out, or a sentence that says what to write."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from io import StringIO
from typing import Any, TypeVar

Read = Callable[[str], Any]
Nothing = TypeVar("Nothing")
NUMBER = re.compile(r"-?\d{1,20}(\.\d{1,20})?", re.ASCII)
# Commas that can be nothing but thousands: 1,234 alone may be meant as 1.234.
GROUPED = re.compile(r"-?[1-9]\d{0,2}((,\d{3})+\.\d{1,20}|(,\d{3}){2,6})", re.ASCII)
WHOLE = re.compile(r"-?\d{1,9}", re.ASCII)
LONGEST_NAMES = 4000
YES_NO = (("yes", "yes"), ("no", "no"))


@dataclass(frozen=True, slots=True)
class Field:
    """One column: `read` raises ValueError. `kind` is text, names, number, day or choice; `is_more` folds it away.

    `default` is what a new row begins with, `empty` the value where nothing is written.
    """

    name: str
    title: str
    read: Read
    kind: str = "text"
    default: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    help: str = ""
    is_more: bool = False
    is_wide: bool = False
    empty: Any = None


def text(name: str, title: str, most: int, *, is_required: bool = False, **more: Any) -> Field:
    def read(value: str) -> str:
        value = value.replace("\xa0", " ")  # as spreadsheets paste it
        if is_required and not value:
            raise ValueError("Write something here.")
        if len(value) > most:
            raise ValueError(f"Write {most} characters at most.")
        if not value.isprintable():
            raise ValueError("Write it on one line, without control characters.")
        return value

    return Field(name, title, read, **more)


def number(
    name: str,
    title: str,
    *,
    places: int = 4,
    least: int | None = None,
    most: int = 999_999_999_999,
    empty: Decimal | None = None,
    is_required: bool = False,
    **more: Any,
) -> Field:
    """Return a field for a Decimal with so many places at most; `empty` where nothing is written."""

    def read(value: str) -> Decimal | None:
        if not value:
            return _none(empty, is_required, "Write a number, such as 1234.50.")
        if GROUPED.fullmatch(value):
            value = value.replace(",", "")
        if not NUMBER.fullmatch(value):
            raise ValueError("Write a number with a point and without separators, such as 1234.50.")
        decimal = Decimal(value)
        if -int(decimal.normalize().as_tuple().exponent) > places:
            raise ValueError(f"Write {places} decimals at most.")
        return Decimal(_within(decimal, -most if least is None else least, most))

    return Field(name, title, read, kind="number", empty=empty, **more)


def whole(
    name: str,
    title: str,
    *,
    least: int = 0,
    most: int = 999_999_999,
    empty: int | None = None,
    is_required: bool = False,
    **more: Any,
) -> Field:
    def read(value: str) -> int | None:
        if not value:
            return _none(empty, is_required, "Write a whole number.")
        if not WHOLE.fullmatch(value):
            raise ValueError("Write a whole number, without separators.")
        return int(_within(int(value), least, most))

    return Field(name, title, read, kind="number", empty=empty, **more)


def day(name: str, title: str, *, is_required: bool = False, **more: Any) -> Field:
    def read(value: str) -> date | None:
        if not value:
            return _none(None, is_required, "Write a day, such as 2026-01-31.")
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise ValueError("Write a day as year-month-day, such as 2026-01-31.") from None

    return Field(name, title, read, kind="day", **more)


def choice(name: str, title: str, choices: Sequence[tuple[str, str]], **more: Any) -> Field:
    options = [value for value, _ in choices]

    def read(value: str) -> str:
        if value not in options:
            raise ValueError(f"Write one of: {', '.join(option or '(empty)' for option in options)}.")
        return value

    return Field(name, title, read, kind="choice", choices=tuple(choices), **{"default": options[0], **more})


def flag(name: str, title: str, *, default: str, **more: Any) -> Field:
    def read(value: str) -> bool:
        if value not in ("yes", "no"):
            raise ValueError("Write yes or no.")
        return value == "yes"

    return Field(name, title, read, kind="choice", choices=YES_NO, default=default, **more)


def names(name: str, title: str, most: int, **more: Any) -> Field:
    """Return a field for several texts separated by semicolons; one that holds a semicolon stands in quotes."""

    def read(value: str) -> list[str]:
        if len(value) > LONGEST_NAMES:
            raise ValueError(f"Write {LONGEST_NAMES} characters at most.")
        words = [word.strip() for word in next(csv.reader([value], delimiter=";", skipinitialspace=True), [])]
        if any(len(word) > most or not word.isprintable() for word in words):
            raise ValueError(f"Write names of {most} characters at most, apart by semicolons.")
        return [word for word in words if word]

    return Field(name, title, read, kind="names", **more)


def written_names(values: Sequence[str]) -> str:
    line = StringIO()
    csv.writer(line, delimiter=";", lineterminator="").writerow(values)
    return line.getvalue()


def written(value: Any) -> str:
    """Write a value as `read` takes it: every digit of a number, no idle zeros."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Decimal):
        digits = f"{value:f}"
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    if isinstance(value, list):
        return written_names(value)
    return value.isoformat() if isinstance(value, date) else str(value)


def _none(empty: Nothing, is_required: bool, sentence: str) -> Nothing:
    if is_required:
        raise ValueError(sentence)
    return empty


def _within(value: Any, least: int, most: int) -> Any:
    if value < least:
        raise ValueError(f"Write {least} or more.")
    if value > most:
        raise ValueError(f"Write {most:,} at most.".replace(",", ""))
    return value
