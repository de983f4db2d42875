"""The state of a comparison in an address: curves, baseline, latency ceiling and terms of prices."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from django.http import QueryDict

from benchhub.analysis.words import listing
from benchhub.reports.prices.terms import NAMES, QUESTIONS, Terms, terms

from .queries import Key

MOST = 12
CEILING = "ceiling_ms"
# The chart keeps `show` and `axis` in the address by itself.
PARAMETERS = ("curve", "baseline", CEILING, *NAMES, *QUESTIONS, "show", "axis")


@dataclass(frozen=True)
class State:
    """The parameters of an address that make a comparison what it is, each as it was typed."""

    query: QueryDict

    @classmethod
    def read(cls, parameters: QueryDict) -> State:
        """Take from an address what belongs to a comparison; empty values and unknown parameters are left out."""
        query = QueryDict(mutable=True)
        for name in PARAMETERS:
            if values := [value for value in parameters.getlist(name) if value]:
                query.setlist(name, values)
        return cls(query)

    @classmethod
    def of_curves(cls, names: Sequence[str]) -> State:
        """Return the state that asks for these curves and nothing else."""
        query = QueryDict(mutable=True)
        query.setlist("curve", list(names))
        return cls.read(query)

    @cached_property
    def names(self) -> list[str]:
        """Return the names of curves as they were typed, each once, also those that belong to no curve."""
        return list(dict.fromkeys(self.query.getlist("curve")))

    @cached_property
    def keys(self) -> list[Key]:
        """Return the curves as (experiment, system), each once, MOST at most; names of another form are left out."""
        keys = map(key_of, self.names)
        return list(dict.fromkeys(key for key in keys if key))[:MOST]

    @property
    def has_too_many(self) -> bool:
        return len(self.query.getlist("curve")) > MOST

    @property
    def baseline(self) -> str:
        return self.query.get("baseline", "")

    @property
    def ceiling_text(self) -> str:
        return self.query.get(CEILING, "")

    @cached_property
    def ceiling(self) -> Ceiling:
        return Ceiling.read(self.ceiling_text)

    def terms(self, today: date | None = None) -> Terms:
        return terms(self.query, today)

    def missing(self, keys: Sequence[Key]) -> list[str]:
        """Return the names that belong to none of the given curves."""
        return [name for name in self.names[:MOST] if key_of(name) not in keys]

    def address(self, **changes: Sequence[str]) -> str:
        return address(self.query, **changes)

    def hidden(self, *left_out: str) -> list[tuple[str, str]]:
        """Return the parameters, as (name, value), that a form keeps beside those that it sets itself."""
        return [(name, value) for name, values in self.query.lists() if name not in left_out for value in values]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A latency ceiling in ms, None for none; `error` says what is wrong with the text that was typed."""

    value_ms: float | None = None
    error: str = ""

    @classmethod
    def read(cls, text: str) -> Ceiling:
        if not text.strip():
            return cls()
        try:
            value_ms = float(text.replace(",", "."))
        except ValueError:
            value_ms = math.nan
        if not 0 < value_ms < math.inf:
            return cls(error=f"'{text}' is no latency: write milliseconds such as 2.5.")
        return cls(value_ms)


def key_of(name: str) -> Key | None:
    """Return 3-7 as (3, 7); None for what is no such pair."""
    match = re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})", name)
    return (int(match[1]), int(match[2])) if match else None


def address(query: QueryDict, **changes: Sequence[str]) -> str:
    """Return the query of an address with some parameters changed; an empty list removes one."""
    changed = query.copy()
    for name, values in changes.items():
        changed.setlist(name, list(values))
    return f"?{changed.urlencode()}"


def missing_text(missing: Sequence[str]) -> str:
    """Say that curves which an address names are not there. The one wording for pages, API and documents."""
    if len(missing) == 1:
        return f"There is no curve {missing[0]}."
    return f"There are no curves {listing(missing)}."
