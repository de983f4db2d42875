"""The terms that a reader chooses for prices, all in the address; a wrong value gets a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TypeVar

from django.http import QueryDict
from django.utils import timezone

from benchhub.analysis.pricing.money import HUNDRED, Rounding
from benchhub.analysis.pricing.quote import DEFAULT_TERM_YEARS, TERMS_YEARS
from benchhub.analysis.words import count, plain

Value = TypeVar("Value")

NAMES = (
    "term", "licence", "load", "ceiling", "rounding", "day", "currency", "discount", "support", "standbys",
    "utilisation", "users", "per",
)  # fmt: skip
# The parameters that choose the subject of the questions below the table.
QUESTIONS = ("drawn", "subject", "one", "other")
USUAL_ROUNDING: Rounding = "nearest"
ROUNDINGS: Mapping[str, tuple[Rounding, str]] = {"nearest": ("nearest", "to nearest"), "up": ("up", "up")}
PEAK, WITHIN = "peak", "latency"
# What a price is of: a unit of throughput, or a million transactions of the term.
UNIT, MILLION = "unit", "million"
DEFAULT_CEILING_MS = Decimal(10)
DEFAULT_UTILISATION = Decimal(50)
SMALLEST = Decimal("0.000001")
MOST_STANDBYS = 9
MOST_USERS = 1_000_000


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of prices in an address; no licences means all, no day means today.

    `load` is 'peak', 'latency' (the best within `ceiling_ms`) or a number of clients. `problems` has a sentence for
    each control whose value was not understood and is not used, `typed` its text. `hidden_parameters` are the rest
    of the address, for the form.
    """

    today: date
    years: int = DEFAULT_TERM_YEARS
    rounding: Rounding = USUAL_ROUNDING
    licences: frozenset[int] = frozenset()
    load: str = PEAK
    ceiling_ms: Decimal = DEFAULT_CEILING_MS
    asked_day: date | None = None
    currency: str = ""
    discount_percent: Decimal = Decimal(0)
    support_percent: Decimal | None = None  # None: as the rules of each licence say
    standbys: int = 0
    utilisation_percent: Decimal = DEFAULT_UTILISATION
    users: int | None = None
    per: str = UNIT
    problems: Mapping[str, str] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)
    hidden_parameters: tuple[tuple[str, str], ...] = ()

    @property
    def day(self) -> date:
        return self.asked_day or self.today

    @property
    def is_of_today(self) -> bool:
        return self.day == self.today

    @property
    def clients(self) -> int | None:
        return int(self.load) if self.load.isdecimal() else None

    @property
    def choices(self) -> list[tuple[int, str]]:
        return [(term, count(term, "year")) for term in TERMS_YEARS]

    @property
    def roundings(self) -> list[tuple[str, str]]:
        return [(value, words) for value, (_, words) in ROUNDINGS.items()]

    @property
    def words(self) -> str:
        """Write '3 years', and every other term that is not as usual: '3 years, rounded up'."""
        parts = [count(self.years, "year")]
        parts += [f"rounded {ROUNDINGS[self.rounding][1]}"] if self.rounding != USUAL_ROUNDING else []
        parts += [f"{plain(self.discount_percent)}% off everything"] if self.discount_percent else []
        support = self.support_percent
        parts += [f"support at {plain(support)}% a year"] if support is not None else []
        parts += [f"with {count(self.standbys, 'standby')}"] if self.standbys else []
        parts += [f"by the prices of {self.day.isoformat()}"] if not self.is_of_today else []
        return ", ".join(parts)

    @property
    def has_unusual(self) -> bool:
        """Tell whether any term under 'More terms' is not as usual, so that the reader should see it."""
        return any(name in self.typed for name in NAMES[4:])

    def shows(self, revisions: Collection[int]) -> bool:
        """Tell whether a licence model is chosen, by any of its revisions: another day may price by another."""
        return not self.licences or not self.licences.isdisjoint(revisions)


def terms(query: QueryDict, today: date | None = None) -> Terms:
    """Read the terms of an address. Missing and wrong values are as usual."""
    current_day = today or timezone.now().date()
    reader = Reader(query)
    return Terms(
        today=current_day,
        years=reader.read("term", _term, DEFAULT_TERM_YEARS),
        rounding=reader.read("rounding", _rounding, USUAL_ROUNDING),
        licences=reader.read_all("licence"),
        load=reader.read("load", _load, PEAK),
        ceiling_ms=reader.read("ceiling", _ceiling, DEFAULT_CEILING_MS),
        asked_day=reader.read("day", lambda text: _day(text, current_day), None),
        currency=reader.read("currency", _currency, ""),
        discount_percent=reader.read("discount", _discount, Decimal(0)),
        support_percent=reader.read("support", _support, None),
        standbys=reader.read("standbys", _standbys, 0),
        utilisation_percent=reader.read("utilisation", _utilisation, DEFAULT_UTILISATION),
        users=reader.read("users", _users, None),
        per=reader.read("per", _per, UNIT),
        problems=reader.problems,
        typed=reader.typed,
        hidden_parameters=rest(query, NAMES),
    )


def rest(query: QueryDict, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the parameters of an address beside these names, as (name, value)."""
    return tuple((name, value) for name, values in query.lists() if name not in names for value in values if value)


class Reader:
    """The reader of one address; notes what was typed, and what of it was not understood."""

    def __init__(self, query: QueryDict) -> None:
        self.query = query
        self.problems: dict[str, str] = {}
        self.typed: dict[str, str] = {}

    def read(self, name: str, parse: Callable[[str], Value], usual: Value) -> Value:
        text = self.query.get(name, "").strip()
        if not text:
            return usual
        try:
            value = parse(text)
        except ValueError as error:
            self.typed[name], self.problems[name] = text, f"{error} Until then the usual one is used."
            return usual
        if value != usual:
            self.typed[name] = text
        return value

    def read_all(self, name: str) -> frozenset[int]:
        texts = [text for text in self.query.getlist(name) if text]
        keys = {int(text) for text in texts if re.fullmatch("[0-9]{1,18}", text)}
        if len(keys) < len(set(texts)):
            self.problems[name] = "The address names a licence model that is none: choose among these."
        return frozenset(keys)


def one_of(text: str, values: tuple[str, ...], sentence: str) -> str:
    """Return the text if it is one of the values; raise ValueError with the sentence otherwise."""
    if text not in values:
        raise ValueError(sentence)
    return text


def _term(text: str) -> int:
    return int(one_of(text, tuple(map(str, TERMS_YEARS)), "Choose a term of 1 to 5 years."))


def _per(text: str) -> str:
    return one_of(text, (UNIT, MILLION), "Choose the price of a unit of throughput or of a million transactions.")


def _rounding(text: str) -> Rounding:
    return ROUNDINGS[one_of(text, tuple(ROUNDINGS), "Choose rounding to nearest or up.")][0]


def _load(text: str) -> str:
    if text in (PEAK, WITHIN):
        return text
    return str(whole(text, 1, 10**9, "Choose the peak, a number of clients, or a latency."))


def _ceiling(text: str) -> Decimal:
    return number(text, SMALLEST, Decimal(10**6), "Write a latency in ms above 0, such as 10 or 2.5.")


def _day(text: str, today: date) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ValueError("Write a day as year-month-day, such as 2026-01-31.") from None
    if day > today:
        raise ValueError("This day is still to come: write today or an earlier one.")
    return day


def _currency(text: str) -> str:
    if not re.fullmatch("[A-Z]{3}", text):
        raise ValueError("Choose a currency by its ISO 4217 code, such as EUR.")
    return text


def _discount(text: str) -> Decimal:
    return number(text, Decimal(0), HUNDRED, "Write a discount from 0 to 100 per cent, such as 12.5.")


def _support(text: str) -> Decimal:
    return number(text, Decimal(0), HUNDRED, "Write support from 0 to 100 per cent a year, such as 20.")


def _standbys(text: str) -> int:
    return whole(text, 0, MOST_STANDBYS, f"Write a whole number of standbys from 0 to {MOST_STANDBYS}.")


def _utilisation(text: str) -> Decimal:
    return number(text, SMALLEST, HUNDRED, "Write a utilisation above 0 and up to 100 per cent.")


def _users(text: str) -> int:
    return whole(text, 1, MOST_USERS, f"Write a whole number of named users from 1 to {MOST_USERS:,}.")


def whole(text: str, least: int, most: int, sentence: str) -> int:
    """Return a whole number within bounds; raise ValueError with the sentence for anything else."""
    if not re.fullmatch("[0-9]{1,10}", text) or not least <= int(text) <= most:
        raise ValueError(sentence)
    return int(text)


def number(text: str, least: Decimal, most: Decimal, sentence: str) -> Decimal:
    """Return a number within bounds; raise ValueError with the sentence for anything else."""
    if not re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,6})?", text) or not least <= Decimal(text) <= most:
        raise ValueError(sentence)
    return Decimal(text)
